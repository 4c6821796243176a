// The descriptors of this process, for tests of those that stay open and of those that there are
// none left for. Sanitizers and other threads must not open files meanwhile.

#ifndef DTNN_TOOLS_TESTING_DESCRIPTORS_H_
#define DTNN_TOOLS_TESTING_DESCRIPTORS_H_

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <iterator>

namespace dtnn::testing {

// How many are open, one of them to count.
inline int64_t OpenDescriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                       std::filesystem::directory_iterator());
}

// While it lives nothing can be opened: "Too many open files", for root too. With `one`: but for
// one descriptor.
class NoNewDescriptors {
 public:
  explicit NoNewDescriptors(bool one = false) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = dup(0);
    close(next);
    const rlimit none = {.rlim_cur = one ? rlim_t(next) + 1 : 0, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoNewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoNewDescriptors(const NoNewDescriptors&) = delete;
  NoNewDescriptors& operator=(const NoNewDescriptors&) = delete;

 private:
  rlimit before_ = {};
};

}  // namespace dtnn::testing

#endif  // DTNN_TOOLS_TESTING_DESCRIPTORS_H_
