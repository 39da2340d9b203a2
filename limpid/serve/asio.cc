// Asio's own sources, compiled once: elsewhere BOOST_ASIO_SEPARATE_COMPILATION leaves them out.
#include <boost/asio/impl/src.hpp>
