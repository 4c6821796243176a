#include "apps/make/rank_options.h"

#include <algorithm>
#include <filesystem>
#include <variant>

#include "apps/flags/option_table.h"
#include "apps/program/paths.h"
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

std::vector<std::string Options::*> PathOptions() {
  std::vector<std::string Options::*> paths;
  for (const OptionSpec& spec : OptionTable()) {
    if (spec.type != OptionType::kPath) continue;
    paths.push_back(std::get<std::string Options::*>(spec.field));
  }
  return paths;
}

bool OwnCheckpoints(const Options& options) {
  return !options.shared_storage || options.model_sync_freq != 0;
}

int64_t StepsBetweenMeetings(const Options& options) {
  constexpr int64_t kOfRanksThatNeverMeet = 64;
  const int64_t every = options.model_sync_freq;
  return every < 0 ? kOfRanksThatNeverMeet : std::max<int64_t>(every, 1);
}

Options OptionsOfRank(Options options, int rank, int ranks) {
  if (ranks > 1 && OwnCheckpoints(options)) {
    MakeOwn(options.checkpoint_dir, /*is_file=*/false, rank);
  }
  if (ranks > 1 && !options.shared_storage) {
    MakeOwn(options.history_file, /*is_file=*/true, rank);
    MakeOwn(options.report, /*is_file=*/true, rank);
    MakeOwn(options.tensorboard_dir, /*is_file=*/false, rank);
    MakeOwn(options.save_model, /*is_file=*/true, rank);
    MakeOwn(options.model_dir, /*is_file=*/false, rank);
  }
  for (std::string Options::*const path : PathOptions()) {
    options.*path = ExpandRank(options.*path, rank);
  }
  return options;
}

}  // namespace dtnn
