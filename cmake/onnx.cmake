# The messages of ONNX as Debian's libonnx-dev has them, with which tests write models, and their parser and checker: the imported
# target limpid_onnx_proto, where headers, libraries and Protocol Buffers are all here. (Its own package file names libraries that
# Debian does not ship.)
find_package(Protobuf QUIET)
find_path(LIMPID_ONNX_INCLUDE onnx/onnx-ml.pb.h)
find_library(LIMPID_ONNX_PROTO onnx_proto)
find_library(LIMPID_ONNX_LIBRARY onnx)
mark_as_advanced(LIMPID_ONNX_INCLUDE LIMPID_ONNX_PROTO LIMPID_ONNX_LIBRARY)
if(TARGET protobuf::libprotobuf AND LIMPID_ONNX_INCLUDE AND LIMPID_ONNX_PROTO AND LIMPID_ONNX_LIBRARY)
  add_library(limpid_onnx_proto INTERFACE IMPORTED)
  target_include_directories(limpid_onnx_proto SYSTEM INTERFACE ${LIMPID_ONNX_INCLUDE})
  target_compile_definitions(limpid_onnx_proto INTERFACE ONNX_ML=1 ONNX_NAMESPACE=onnx)
  target_link_libraries(limpid_onnx_proto INTERFACE ${LIMPID_ONNX_LIBRARY} ${LIMPID_ONNX_PROTO} protobuf::libprotobuf)
endif()
