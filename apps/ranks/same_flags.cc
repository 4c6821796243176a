#include "apps/ranks/same_flags.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "apps/exit_code.h"
#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "comm/gather_values.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

bool NamesAFile(std::string_view option) {
  for (const std::string_view word : {"path", "dir", "file"}) {
    if (option.find(word) != option.npos) return true;
  }
  return false;
}

}  // namespace

absl::Status CompareFlags(Communicator& communicator, const Options& options) {
  std::vector<std::string> flags;
  std::vector<int64_t> mine;
  for (const OptionSpec& spec : OptionTable()) {
    const bool own = NamesAFile(spec.name) && !options.shared_storage;
    flags.push_back(absl::StrCat("--", std::string(spec.name), "=",
                                 own ? "" : OneLine(FormatValue(Load(options, spec)))));
    mine.push_back(int64_t(std::hash<std::string>()(flags.back())));
  }
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> all, GatherValues<int64_t>(communicator, mine));
  for (size_t i = 0; i < mine.size(); ++i) {
    if (mine[i] == all[i]) continue;
    return UsageError(absl::StrCat(flags[i],
                                   ": is another value on rank 0; all ranks have to be "
                                   "started with the same flags"));
  }
  return absl::OkStatus();
}

}  // namespace dtnn
