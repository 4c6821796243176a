#include "tensor/named_argument.h"

#include <cassert>
#include <cstddef>
#include <utility>

#include "absl/strings/cord.h"

namespace dtnn {
namespace {

constexpr char kPayload[] = "dtnn/named_argument";

std::string_view MessageOf(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

}  // namespace

absl::Status NamingArgument(absl::Status status, std::string_view argument) {
  const std::string_view message = MessageOf(status);
  const size_t place = message.rfind(argument);
  assert(place != message.npos);
  if (place == message.npos) return status;
  status.SetPayload(kPayload,
                    absl::Cord(std::string(message.substr(place)) + '\n' + std::string(argument)));
  return status;
}

std::optional<NamedArgument> FindNamedArgument(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayload);
  if (!payload) return std::nullopt;
  const std::string text(*payload);
  const std::string_view message = MessageOf(status);
  const size_t separator = text.rfind('\n');
  const std::string_view end = std::string_view(text).substr(0, separator);
  if (separator == text.npos || !message.ends_with(end)) return std::nullopt;
  return NamedArgument{text.substr(separator + 1), message.size() - end.size()};
}

}  // namespace dtnn
