// A process that outlives the launcher for a moment, to end the ranks that it leaves behind however
// it ends. (PR_SET_PDEATHSIG reaches the processes that the launcher started, but not theirs.)

#ifndef DTNN_APPS_LAUNCH_KEEPER_H_
#define DTNN_APPS_LAUNCH_KEEPER_H_

#include <sys/types.h>

namespace dtnn {

class Keeper {
 public:
  // Starts it; before any other child, and while this process has one thread.
  Keeper();
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  // Process groups to be killed with the launcher, and those that are no more.
  void Watch(pid_t group) { Send(group); }
  void Forget(pid_t group) { Send(-group); }

 private:
  void Send(pid_t message);

  pid_t pid_ = -1;
  int pipe_ = -1;
};

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCH_KEEPER_H_
