// The flags of what errors of libraries name. A library knows no flags, so it advises
// "Geometry::resize" (tensor/named_argument.h), or says "RunOptions::training.epochs=-1: ..."
// (models/run/options); the programs print "--transform-resize" and "--num-epochs=-1: ...".

#ifndef DTNN_APPS_FLAGS_ARGUMENT_FLAGS_H_
#define DTNN_APPS_FLAGS_ARGUMENT_FLAGS_H_

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace dtnn {

struct ArgumentFlag {
  std::string_view argument;  // as libraries spell it: one word
  std::string_view flag;      // perhaps with a value
};
std::span<const ArgumentFlag> ArgumentFlags();

// With the flag in the place of each member of RunOptions that is named.
std::string NameFlags(std::string_view text);

// The same error, payloads included, with flags in the place of members and of the argument.
absl::Status NameFlags(const absl::Status& status);

}  // namespace dtnn

#endif  // DTNN_APPS_FLAGS_ARGUMENT_FLAGS_H_
