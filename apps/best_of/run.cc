#include "apps/best_of/run.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "kernels/device/context.h"
#include "models/plan/plan.h"
#include "models/run/options/in_force.h"
#include "models/run/parts/best_of_file.h"
#include "models/run/parts/make_model.h"
#include "models/run/parts/make_trainer_options.h"
#include "models/run/parts/make_training.h"
#include "models/run/samples/make_dataset.h"
#include "models/run/tables/best_of_table.h"
#include "tensor/status_macros.h"
#include "tensor/stopwatch.h"
#include "tensor/text/counted.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

absl::Status RunBestOf(const Options& options, std::ostream& out, std::ostream& err) {
  DTNN_RETURN_IF_ERROR(CheckBestOfFile(options));
  DTNN_ASSIGN_OR_RETURN(const MetricSet metric_set, MakeMetricSet(options));
  DTNN_ASSIGN_OR_RETURN(const int64_t batch, BatchSizePerRank(options));
  DTNN_ASSIGN_OR_RETURN(const Graph graph,
                        MakeModel(options, KnownSize(options), *metric_set.loss));
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<DeviceContext> context,
                        DeviceContext::Create(Device::Cpu()));
  DTNN_ASSIGN_OR_RETURN(Decisions known, LoadDecisions(options));
  BestOf best_of({.known = std::move(known),
                  .names = BestOfNames(options),
                  .warn = [&err](std::string_view line) {
                    err << StrCat("best_of: warning: ", line, "\n") << std::flush;
                  }});
  out << "**** " << graph.name() << ", " << Counted(batch, "sample") << " of "
      << graph.input_shape().ToString() << ", " << Name(ElementTypeOf(options)) << ", "
      << Name(graph.format()) << "\n"
      << std::flush;
  const Stopwatch watch;
  const DType dtype = ElementTypeOf(options);
  if (!options.training.evaluate_only) {
    DTNN_RETURN_IF_ERROR(
        Plan::Measure(
            graph, dtype, *context,
            {.batch = batch, .training = true, .loss = metric_set.loss.get(), .best_of = &best_of})
            .status());
  }
  DTNN_RETURN_IF_ERROR(Plan::Measure(graph, dtype, *context,
                                     {.batch = batch,
                                      .loss = metric_set.loss.get(),
                                      .best_of = &best_of,
                                      .fusions = MakeFusions(options)})
                           .status());
  const double seconds = watch.seconds();
  DTNN_RETURN_IF_ERROR(SaveDecisions(options, best_of));
  out << FormatBestOf(best_of)
      << absl::StrFormat("**** %s, %d by timing in %.2f s\n",
                         Counted(int64_t(best_of.uses().size()), "decision"), best_of.timed(),
                         seconds);
  return absl::OkStatus();
}

}  // namespace dtnn
