#include "apps/program/argument_flags.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "absl/strings/cord.h"
#include "tensor/named_argument.h"

namespace dtnn {
namespace {

constexpr ArgumentFlag kArgumentFlags[] = {
    {"AgreeOnClasses", "--shared-storage=False"},
    {"Checkpointer::Resume", "--resume"},
    {"Geometry::resize", "--transform-resize"},
    {"LoadWeights", "--weights-and-bias-filename"},
    {"LoaderOptions::steps_per_epoch", "--steps-per-epoch"},
    {"NpzOptions::format", "--archive-format"},
    {"OpenDatasetOptions::skip_damaged_images", "--skip-damaged-images"},
};

}  // namespace

std::span<const ArgumentFlag> ArgumentFlags() { return kArgumentFlags; }

absl::Status NameFlags(const absl::Status& status) {
  const std::optional<NamedArgument> named = FindNamedArgument(status);
  if (!named) return status;
  const auto flag = std::ranges::find(kArgumentFlags, named->argument, &ArgumentFlag::argument);
  if (flag == std::end(kArgumentFlags)) return status;
  std::string message(status.message());
  message.replace(named->place, flag->argument.size(), flag->flag);
  absl::Status told(status.code(), message);
  status.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { told.SetPayload(url, payload); });
  return told;
}

}  // namespace dtnn
