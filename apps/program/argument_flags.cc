#include "apps/program/argument_flags.h"

#include "absl/strings/cord.h"

namespace dtnn {
namespace {

constexpr ArgumentFlag kArgumentFlags[] = {
    {"AgreeOnClasses", "--shared-storage=False"},
    {"Checkpointer::Resume", "--resume"},
    {"Geometry::resize", "--transform-resize"},
    {"LoadWeightsOptions::format", "--weights-format"},
    {"LoadWeights", "--weights-and-bias-filename"},  // after those that begin so
    {"LoaderOptions::steps_per_epoch", "--steps-per-epoch"},
    {"NpzOptions::format", "--archive-format"},
};

}  // namespace

std::span<const ArgumentFlag> ArgumentFlags() { return kArgumentFlags; }

std::string NameFlags(std::string_view message) {
  std::string named(message);
  for (const auto& [argument, flag] : kArgumentFlags) {
    for (size_t at = named.find(argument); at != named.npos;
         at = named.find(argument, at + flag.size())) {
      named.replace(at, argument.size(), flag);
    }
  }
  return named;
}

absl::Status NameFlags(const absl::Status& status) {
  if (status.ok()) return status;
  const absl::string_view message = status.message();
  absl::Status named(status.code(), NameFlags(std::string_view(message.data(), message.size())));
  status.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { named.SetPayload(url, payload); });
  return named;
}

}  // namespace dtnn
