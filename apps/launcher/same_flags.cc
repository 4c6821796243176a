#include "apps/launcher/same_flags.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "comm/gather_values.h"
#include "comm/ranks/job/exit_code.h"
#include "models/run/parts/rank_options.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

absl::Status CompareFlags(Communicator& communicator, const Options& options) {
  Options compared = options;
  compared.ranks.rendezvous = "";  // they have met
  if (!options.ranks.shared_storage) {
    for (std::string* path : PathsOf(compared)) path->clear();
  }
  std::vector<std::string> flags;
  std::vector<int64_t> mine;
  for (const OptionSpec& spec : OptionTable()) {
    flags.push_back(StrCat("--", spec.name, "=", OneLine(FormatValue(Load(&compared, spec)))));
    mine.push_back(int64_t(std::hash<std::string>()(flags.back())));
  }
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> all, GatherValues<int64_t>(communicator, mine));
  for (size_t i = 0; i < mine.size(); ++i) {
    if (mine[i] == all[i]) continue;
    return UsageError(flags[i],
                      ": differs from the value on rank 0; start all ranks with the same flags");
  }
  return absl::OkStatus();
}

}  // namespace dtnn
