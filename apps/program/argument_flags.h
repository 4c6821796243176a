// The flags of arguments that errors of libraries name (tensor/named_argument.h). A library knows
// no flags, so it advises "Geometry::resize"; the programs print "--transform-resize".

#ifndef DTNN_APPS_PROGRAM_ARGUMENT_FLAGS_H_
#define DTNN_APPS_PROGRAM_ARGUMENT_FLAGS_H_

#include <span>
#include <string_view>

#include "absl/status/status.h"

namespace dtnn {

struct ArgumentFlag {
  std::string_view argument;  // as libraries spell it: one word
  std::string_view flag;      // perhaps with a value
};
std::span<const ArgumentFlag> ArgumentFlags();

// The same error, payloads included, with the flag in the place of the argument.
absl::Status NameFlags(const absl::Status& status);

}  // namespace dtnn

#endif  // DTNN_APPS_PROGRAM_ARGUMENT_FLAGS_H_
