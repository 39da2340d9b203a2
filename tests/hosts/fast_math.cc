// What a source of a program includes.
#include <limpid/limpid.h>

int main() { return 0; }
