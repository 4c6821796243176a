// A system that refuses what it has, as a container's may, for tests.

#ifndef DTNN_TOOLS_TESTING_FORBID_CALL_H_
#define DTNN_TOOLS_TESTING_FORBID_CALL_H_

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <array>
#include <cerrno>
#include <cstddef>

namespace dtnn::testing {

// From now on the system call of that number fails in this thread with EPERM. False: it does not.
inline bool ForbidCall(unsigned number) {
  std::array<sock_filter, 4> program = {
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter = {.len = program.size(), .filter = program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace dtnn::testing

#endif  // DTNN_TOOLS_TESTING_FORBID_CALL_H_
