#include "data/check_offsets.h"

#include "tensor/errors.h"

namespace dtnn {

absl::Status CheckOffsets(const Normalization& by, const Preprocessing& preprocessing) {
  using enum Preprocessing::Input;
  const bool shares = preprocessing.input == kBytes || preprocessing.input == kBgr;
  if (!shares || preprocessing.normalization.any()) return absl::OkStatus();
  for (const double offset : by.offset) {
    if (offset >= -1) continue;
    return InvalidArgument("takes ", -offset,
                           " from values of byte / 255, which are at "
                           "most 1; a mean of bytes is divided by 255: ",
                           -offset / 255);
  }
  return absl::OkStatus();
}

}  // namespace dtnn
