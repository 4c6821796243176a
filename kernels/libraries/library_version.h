// Whether the library that a program finds where it runs is one that it was built for: its major
// version, and not older. For .cu files of libraries whose names do not already say so.

#ifndef DTNN_KERNELS_LIBRARIES_LIBRARY_VERSION_H_
#define DTNN_KERNELS_LIBRARIES_LIBRARY_VERSION_H_

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace dtnn {

struct LibraryVersion {
  int64_t major = 0, minor = 0, patch = 0;

  // From a number in decimal digits: 91900 with steps of 10000 and 100 is 9.19.0.
  static constexpr LibraryVersion Of(int64_t number, int64_t major_step, int64_t minor_step) {
    return {number / major_step, number % major_step / minor_step, number % minor_step};
  }
  std::string ToString() const;  // "9.19.0"
  friend auto operator<=>(const LibraryVersion&, const LibraryVersion&) = default;
};

// `library`: "cuDNN". FailedPrecondition, naming both versions.
absl::Status CheckLibraryVersion(std::string_view library, const LibraryVersion& found,
                                 const LibraryVersion& built_for);

}  // namespace dtnn

#endif  // DTNN_KERNELS_LIBRARIES_LIBRARY_VERSION_H_
