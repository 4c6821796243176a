// How long OpenMP's threads spin before they sleep. The library's own choice, minutes of a core's
// time over a run, makes programs many times slower where others use the machine too: a thread that
// waits keeps the core from the one it waits for. It reads its settings before main() begins, hence
// the only way to change them is to begin once more.

#ifndef DTNN_APPS_THREAD_WAITING_H_
#define DTNN_APPS_THREAD_WAITING_H_

namespace dtnn {

// To be called first in main(): unless the user has set GOMP_SPINCOUNT or OMP_WAIT_POLICY, replaces
// the process by itself with GOMP_SPINCOUNT=10000, about 10 microseconds. Where that is not
// possible the program goes on as it is.
void LetWaitingThreadsSleep(char** argv);

}  // namespace dtnn

#endif  // DTNN_APPS_THREAD_WAITING_H_
