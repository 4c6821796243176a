// What a library of GPUs has planned, in a folder from run to run: a text for each key, in a file
// of its own. Keys name the GPU and the library with its version, so that the plans of another stay
// beside. A plan says by a number, the caller's `revision`, how it was asked for: that of another
// version of the program is none.
//
// Plans are programs of a GPU in the end, so nobody else may have written them: the folder and its
// files must belong to this user, who alone may write to the folder and read the files
// (tensor/files/access/private_file.h). Several processes may share a folder.

#ifndef DTNN_KERNELS_LIBRARIES_KEPT_PLANS_H_
#define DTNN_KERNELS_LIBRARIES_KEPT_PLANS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dtnn {

class KeptPlans {
 public:
  // cuDNN's have 2 to 90 KiB.
  static constexpr int64_t kMostBytes = int64_t{4} << 20;

  // Makes the folder where its parent exists. `warn` gets a line about a plan that is not
  // taken from its file or does not get there. PermissionDenied for a folder that others may write
  // to; other errors where nothing can be written there.
  static absl::StatusOr<std::unique_ptr<KeptPlans>> Open(
      std::string_view folder, std::function<void(std::string_view)> warn);

  // NotFound where nothing is kept for the key; PermissionDenied for a file that others may have
  // written; InvalidArgument for one that is none of a plan, or is another key's or revision's;
  // FailedPrecondition for a longer one, and for what is not a regular file.
  absl::StatusOr<std::string> Load(std::string_view key, int revision) const;
  // All of it or nothing. InvalidArgument for a key that is not a file name, or a longer text.
  absl::Status Save(std::string_view key, int revision, std::string_view text) const;
  void Warn(std::string_view line) const { warn_(line); }

 private:
  KeptPlans(std::string_view folder, std::function<void(std::string_view)> warn)
      : folder_(folder), warn_(std::move(warn)) {}
  absl::StatusOr<std::string> PathOf(std::string_view key) const;

  std::string folder_;
  std::function<void(std::string_view)> warn_;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_LIBRARIES_KEPT_PLANS_H_
