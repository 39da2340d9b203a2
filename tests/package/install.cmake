# Installs the main build into PREFIX, of which nothing older is left.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)

file(REMOVE_RECURSE ${PREFIX})
run(${CMAKE_COMMAND} --install ${LIMPID_BUILD} --prefix ${PREFIX})
