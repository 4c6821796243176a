// Prints how OpenMP's threads wait, and the arguments, as a program that calls
// LetWaitingThreadsSleep sees them.

#include <cstdio>
#include <cstdlib>

#include "apps/thread_waiting.h"

int main(int argc, char** argv) {
  dtnn::LetWaitingThreadsSleep(argv);
  const char* spin = std::getenv("GOMP_SPINCOUNT");
  std::printf("%s", spin == nullptr ? "unset" : spin);
  for (int i = 1; i < argc; ++i) std::printf(" %s", argv[i]);
}
