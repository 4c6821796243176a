#include "models/run/parts/rank_options.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "models/run/options/in_force.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

void MakeOwn(std::string& path, bool is_file, int rank) {
  if (path.empty() || ExpandRank(path, 0) != ExpandRank(path, 1)) return;
  std::filesystem::path named = path;
  if (!named.has_filename()) named = named.parent_path();  // "folder/"
  const std::string extension = is_file ? named.extension().string() : "";
  const std::string stem = is_file ? named.stem().string() : named.filename().string();
  path = named.replace_filename(StrCat(stem, "-rank", rank, extension)).string();
}

}  // namespace

bool OwnCheckpoints(const RunOptions& options) {
  return !options.ranks.shared_storage || !options.sync.model_steps.sums_gradients();
}

int64_t StepsBetweenMeetings(const RunOptions& options) {
  constexpr int64_t kOfRanksThatNeverMeet = 64;
  const ModelSteps& every = options.sync.model_steps;
  return every.exchanges_nothing() ? kOfRanksThatNeverMeet : std::max<int64_t>(every.number(), 1);
}

RunOptions OptionsOfRank(RunOptions options, int rank, int ranks) {
  options.schedule.model_folder = ModelFolderOf(options);
  if (ranks > 1 && OwnCheckpoints(options)) {
    MakeOwn(options.checkpoint.folder, /*is_file=*/false, rank);
  }
  if (ranks > 1 && !options.ranks.shared_storage) {
    MakeOwn(options.output.history, /*is_file=*/true, rank);
    MakeOwn(options.output.report, /*is_file=*/true, rank);
    MakeOwn(options.output.tensorboard, /*is_file=*/false, rank);
    MakeOwn(options.output.model, /*is_file=*/true, rank);
    MakeOwn(options.schedule.model_folder, /*is_file=*/false, rank);
  }
  for (std::string* path : PathsOf(options)) *path = ExpandRank(*path, rank);
  return options;
}

std::string ExpandRank(std::string_view path, int64_t rank) {
  constexpr std::string_view kBraced = "${rank}", kPlain = "$rank";
  const std::string number = std::to_string(rank);
  std::string expanded;
  while (!path.empty()) {
    const std::string_view after_plain = path.substr(std::min(kPlain.size(), path.size()));
    if (path.starts_with(kBraced)) {
      expanded += number;
      path.remove_prefix(kBraced.size());
    } else if (path.starts_with(kPlain) &&
               (after_plain.empty() ||
                (!absl::ascii_isalnum(after_plain[0]) && after_plain[0] != '_'))) {
      expanded += number;
      path.remove_prefix(kPlain.size());
    } else {
      expanded += path[0];
      path.remove_prefix(1);
    }
  }
  return expanded;
}

}  // namespace dtnn
