// That the component onnx links.
#include <limpid/formats/onnx/onnx.h>

int main(int argc, char** argv) {
  if (argc > 1) limpid::onnx::load_onnx(argv[1]);
}
