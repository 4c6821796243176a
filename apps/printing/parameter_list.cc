#include "apps/printing/parameter_list.h"

#include <algorithm>
#include <string_view>

#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "comm/job/exit_code.h"
#include "tensor/format.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr size_t kNameColumns = 31;

void AppendLine(std::string name, std::string_view value, std::string& out) {
  std::ranges::replace(name, '-', '_');
  name.resize(std::max(name.size(), kNameColumns), ' ');
  StrAppend(&out, "  ", name, ": ", OneLine(value), "\n");
}

// What readers should know of a value.
std::string_view Remark(const OptionSpec& spec, const Options& options) {
  const bool adam = options.optimizer == "adam" || options.optimizer == "nadam";
  const bool beta1 = spec.name == "optimizer-beta1" && !options.given.contains("optimizer-beta1");
  return adam && beta1 ? "  (usual: 0.9)" : "";
}

}  // namespace

absl::StatusOr<std::string> FormatParameterList(const Options& options, const RunFacts& facts) {
  Options used = options;
  DTNN_ASSIGN_OR_RETURN(used.batch_size, BatchSizePerRank(options, facts.mpi_processes));
  used.tensor_format = Name(FormatOf(options));
  if (used.dataset_path.empty()) used.dataset_path = TrainPath(options);

  std::string out = "**** Parameters:\n";
  for (const OptionSpec& spec : OptionTable()) {
    AppendLine(std::string(spec.name),
               StrCat(FormatValue(Load(&used, spec)), Remark(spec, options)), out);
    if (spec.name == "parallel") {
      AppendLine("mpi-processes", StrCat(facts.mpi_processes), out);
      AppendLine("threads-per-process", StrCat(facts.threads_per_process), out);
      AppendLine("gpus-per-node", StrCat(facts.gpus_per_node), out);
    }
  }
  return out;
}

}  // namespace dtnn
