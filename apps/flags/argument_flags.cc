#include "apps/flags/argument_flags.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "apps/flags/option_table.h"
#include "tensor/named_argument.h"
#include "tensor/text/str_cat.h"

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

// Functions of the library that messages of runs name; with a word beside them, since a path may
// have such a name.
constexpr std::pair<std::string_view, std::string_view> kFunctions[] = {
    {"Run::Needs shows", "--dry-run shows"},
    {"(ZooModels lists", "(--model=list lists"},
};

std::string NameFunctions(std::string text) {
  for (const auto& [function, flag] : kFunctions) {
    absl::StrReplaceAll({{absl::string_view(function.data(), function.size()),
                          absl::string_view(flag.data(), flag.size())}},
                        &text);
  }
  return text;
}

}  // namespace

std::span<const ArgumentFlag> ArgumentFlags() { return kArgumentFlags; }

std::string NameFlags(std::string_view text) {
  constexpr std::string_view kBegin = "RunOptions::";
  constexpr std::string_view kOfPaths = "abcdefghijklmnopqrstuvwxyz0123456789_.";
  std::string named;
  while (true) {
    const size_t begin = std::min(text.find(kBegin), text.size());
    named += text.substr(0, begin);
    text.remove_prefix(begin);
    if (text.empty()) return NameFunctions(std::move(named));
    std::string_view path = text.substr(kBegin.size());
    path = path.substr(0, std::min(path.find_first_not_of(kOfPaths), path.size()));
    while (path.ends_with('.')) path.remove_suffix(1);  // of a sentence
    const auto option = std::ranges::find(OptionTable(), path, &OptionSpec::path);
    const bool known = !path.empty() && option != OptionTable().end();
    if (known) StrAppend(&named, "--", option->name);
    const size_t size = kBegin.size() + path.size();
    if (!known) named += text.substr(0, size);
    text.remove_prefix(size);
  }
}

absl::Status NameFlags(const absl::Status& status) {
  if (status.ok()) return status;
  std::string message(status.message());
  if (const std::optional<NamedArgument> argument = FindNamedArgument(status)) {
    const auto flag =
        std::ranges::find(kArgumentFlags, argument->argument, &ArgumentFlag::argument);
    if (flag != std::end(kArgumentFlags)) {
      message.replace(argument->place, flag->argument.size(), flag->flag);
    }
  }
  message = NameFlags(message);
  if (message == status.message()) return status;
  absl::Status named(status.code(), message);
  status.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { named.SetPayload(url, payload); });
  return named;
}

}  // namespace dtnn
