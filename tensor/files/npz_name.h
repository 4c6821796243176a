// What the members of an .npz file may be called; shared by its reader and its writer.

#ifndef DTNN_TENSOR_FILES_NPZ_NAME_H_
#define DTNN_TENSOR_FILES_NPZ_NAME_H_

#include <algorithm>
#include <string_view>

#include "absl/status/status.h"
#include "tensor/errors.h"

namespace dtnn {

inline constexpr std::string_view kNpyEnding = ".npy";

// "<name>.npy" with a name that is not empty and holds neither folders nor control characters.
inline absl::Status CheckMemberName(std::string_view file, std::string_view member) {
  const auto refused = [&](std::string_view why) {
    return InvalidArgument(file, ": member ", Quoted(member), " ", why);
  };
  const bool control =
      std::any_of(member.begin(), member.end(), [](char c) { return uint8_t(c) < 32 || c == 127; });
  if (member.find_first_of("/\\") != std::string_view::npos || control) {
    return refused("has a folder or a control character in its name");
  }
  if (member.size() <= kNpyEnding.size() || !member.ends_with(kNpyEnding)) {
    return refused("is not named like an array, <name>.npy");
  }
  return absl::OkStatus();
}

}  // namespace dtnn

#endif  // DTNN_TENSOR_FILES_NPZ_NAME_H_
