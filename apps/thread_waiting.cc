#include "apps/thread_waiting.h"

#include <unistd.h>

#include <cstdlib>

namespace dtnn {

void LetWaitingThreadsSleep(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  if (setenv("GOMP_SPINCOUNT", "10000", 0) != 0) return;
  execv("/proc/self/exe", argv);
}

}  // namespace dtnn
