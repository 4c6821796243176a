// How many processors this process and the one that launched it may run on, however many there are.
//
// A launcher like mpirun may bind each process that it starts to some of its own processors: then
// the two differ, and the launcher's are what all its processes on this machine have together.

#ifndef DTNN_TENSOR_THREADS_PROCESSORS_H_
#define DTNN_TENSOR_THREADS_PROCESSORS_H_

#include <sys/types.h>

#include <optional>

namespace dtnn {

// At least 1, also where the system does not tell. `process` 0: this one. Not more than the quota
// of this process's control groups (tensor/machine/control_groups.h): more threads than it lets run
// at a time are stopped together, in the middle of their work.
int ProcessorsOf(pid_t process);

// `processors`, or what a quota of so many leaves of them: rounded, at least 1.
int WithinQuota(int processors, std::optional<double> quota);

// Those of the parent process, if it has more than this one, else this one's.
int ProcessorsOfLauncher();

}  // namespace dtnn

#endif  // DTNN_TENSOR_THREADS_PROCESSORS_H_
