#include "apps/printing/parameter_list.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "apps/flags/option_needs.h"
#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "comm/ranks/job/exit_code.h"
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
  const bool adam = options.optimizer.name == "adam" || options.optimizer.name == "nadam";
  const bool beta1 = spec.name == "optimizer-beta1" && !options.given.contains("optimizer-beta1");
  return adam && beta1 ? "  (usual: 0.9)" : "";
}

absl::StatusOr<Options> InForce(const Options& options, const RunFacts& facts) {
  Options used = OptionsInForce(options);
  DTNN_ASSIGN_OR_RETURN(used.training.batch, BatchSizePerRank(options, facts.mpi_processes));
  used.network.format = Name(FormatOf(options));
  if (used.data.path.empty()) used.data.path = TrainPath(options);
  return used;
}

// The options that describe every run, also with their defaults.
constexpr std::string_view kEssential[] = {
    "model",     "batch-size",    "num-epochs", "dataset", "dataset-path", "validation-split",
    "optimizer", "learning-rate", "loss-func",  "metrics", "schedulers"};

}  // namespace

absl::StatusOr<std::string> FormatParameterList(const Options& options, const RunFacts& facts) {
  DTNN_ASSIGN_OR_RETURN(Options used, InForce(options, facts));
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

absl::StatusOr<std::string> FormatShortParameterList(const Options& options,
                                                     const RunFacts& facts) {
  DTNN_ASSIGN_OR_RETURN(Options used, InForce(options, facts));
  DTNN_ASSIGN_OR_RETURN(Options defaults, InForce(Options(), facts));
  std::string out = "**** Parameters (the others have their defaults; --verbose lists all):\n";
  for (const OptionSpec& spec : OptionTable()) {
    const std::string value = FormatValue(Load(&used, spec));
    const std::string_view remark = Remark(spec, options);
    const bool essential = std::ranges::find(kEssential, spec.name) != std::end(kEssential);
    const bool differs = value != FormatValue(Load(&defaults, spec));
    if ((essential || differs || !remark.empty()) && UnmetNeeds(spec, used).empty()) {
      AppendLine(std::string(spec.name), StrCat(value, remark), out);
    }
  }
  return out;
}

}  // namespace dtnn
