#include "apps/scale_model/run.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "apps/scale_model/cluster.h"
#include "apps/scale_model/steps.h"
#include "apps/scale_model/table.h"
#include "comm/ranks/gradients/cost_model_measure.h"
#include "kernels/simd/simd_target.h"
#include "tensor/status_macros.h"
#include "tensor/text/counted.h"
#include "tensor/text/str_cat.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

constexpr double kMillisecond = 1e-3;

// An all-reduce of the ranks that are there.
double AllReduceHere(const ScaleModelCluster& found, double bytes) {
  return AllReduceCost(AllReduceAlgorithmFor(found.placement, int64_t(bytes)), found.cluster)
      .Seconds(bytes);
}

std::string DescribeRun(const ScaleModelSteps& steps, const StepProfile& profile, double forward) {
  const int64_t bytes = profile.elements * int64_t(SizeOf(profile.dtype));
  return absl::StrFormat(
      "**** %s, %s of %s per rank, %s, %s (%s)\n"
      "  step of a rank: forward and backward %.2f ms (forward alone %.2f), update %.2f ms; "
      "gradients %s\n",
      steps.graph().name(), Counted(steps.batch(), "sample"),
      steps.graph().input_shape().ToString(), std::string(Name(profile.dtype)),
      Counted(NumThreads(), "thread"), std::string(SimdTarget()),
      profile.backward_seconds / kMillisecond, forward / kMillisecond,
      profile.update_seconds / kMillisecond, FormatBytes(bytes));
}

// `planned`: whose steps are predicted.
std::string DescribeCluster(const ScaleModelCluster& found, const Cluster& planned) {
  std::string text = StrCat("  from node to node: ", FormatLink(found.cluster.network), "  (",
                            found.network_source, ")\n");
  if (planned.ranks_per_node > 1) {
    StrAppend(&text, "  within a node:     ", FormatLink(found.cluster.node), "  (",
              found.node_source, ")\n");
  }
  absl::StrAppendFormat(&text, "  adding gradients: %.1f GB/s; ranks per node: %d\n",
                        1e-9 / planned.seconds_per_byte_added, planned.ranks_per_node);
  return text;
}

std::string DescribeOther(const OtherMachine& machine, const StepProfile& step) {
  return absl::StrFormat(
      "  on a machine of %.1f GFLOP/s whose copies move %.1f GB/s (here %.1f and %.1f): forward "
      "and "
      "backward %.2f ms, update %.2f ms\n",
      machine.there.flops * 1e-9, machine.there.bytes * 1e-9, machine.here.flops * 1e-9,
      machine.here.bytes * 1e-9, step.backward_seconds / kMillisecond,
      step.update_seconds / kMillisecond);
}

// The largest power of two of float32 values whose all-reduce takes no longer.
int64_t ElementsWithin(double seconds, const ScaleModelCluster& found) {
  int64_t elements = 256;
  while (elements < int64_t{64} << 20 &&
         AllReduceHere(found, 2 * 4 * double(elements)) <= seconds) {
    elements *= 2;
  }
  return elements;
}

// All-reduces of several sizes, the last of all gradients, against the formula. All ranks call it
// together.
absl::StatusOr<std::string> CheckAllReduces(Communicator& communicator,
                                            const ScaleModelCluster& found,
                                            int64_t gradient_bytes) {
  std::string text =
      "**** All-reduces of these ranks\n        size    predicted     measured    error\n";
  for (int64_t bytes = 1 << 10;; bytes *= 16) {
    const int64_t elements = std::min(bytes, gradient_bytes) / int64_t(sizeof(float));
    const double predicted = AllReduceHere(found, double(elements) * double(sizeof(float)));
    DTNN_ASSIGN_OR_RETURN(const double measured, MeasureAllReduce(communicator, elements));
    absl::StrAppendFormat(&text, "%12s %9.2f ms %9.2f ms %+7.1f%%\n",
                          FormatBytes(std::min(bytes, gradient_bytes)), predicted / kMillisecond,
                          measured / kMillisecond, 100 * (predicted - measured) / measured);
    if (bytes >= gradient_bytes) return text;
  }
}

}  // namespace

absl::Status RunScaleModel(const ScaleModelOptions& options, Communicator* communicator,
                           std::ostream& out) {
  const bool speaks = communicator == nullptr || communicator->rank() == 0;
  const auto tell = [&](const std::string& text) {
    if (speaks) out << text << std::flush;
  };
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<ScaleModelSteps> steps,
                        ScaleModelSteps::Create(options.run, options.model_file));
  DTNN_ASSIGN_OR_RETURN(const double forward, steps->Forward(communicator, options.steps));
  DTNN_ASSIGN_OR_RETURN(StepProfile profile, steps->Profile(communicator, options.steps));
  tell(DescribeRun(*steps, profile, forward));
  if (options.layers) tell(FormatEvents(profile, steps->EventLayers()));

  DTNN_ASSIGN_OR_RETURN(const ScaleModelCluster found, MeasureCluster(options, communicator));
  DTNN_ASSIGN_OR_RETURN(const int64_t bucket_bytes, BucketBytes(options.run));
  const ExchangeChoice choice = {.bucket_bytes = bucket_bytes,
                                 .blocking = options.run.sync.blocking};
  Cluster planned = found.cluster;
  StepProfile across = profile;
  if (options.machine.cpu_speed + options.machine.memory_bw > 0) {
    const std::vector<LayerFacts> layers = steps->Layers();
    DTNN_ASSIGN_OR_RETURN(
        const OtherMachine machine,
        MeasureOtherMachine(options.machine, layers, steps->batch(), profile.dtype, communicator));
    across = machine.Apply(profile);
    // A sum reads two numbers and writes one.
    if (options.machine.memory_bw > 0) planned.seconds_per_byte_added = 3 / machine.there.bytes;
    tell(DescribeOther(machine, across));
  }
  if (options.ranks_per_node > 0) planned.ranks_per_node = options.ranks_per_node;
  tell(DescribeCluster(found, planned));
  if (communicator != nullptr && communicator->size() > 1) {
    const int64_t elements = ElementsWithin(profile.backward_seconds / 2, found);
    DTNN_ASSIGN_OR_RETURN(profile.exchange_load,
                          steps->ExchangeLoad(*communicator, elements, options.steps));
    tell(absl::StrFormat(
        "  an exchange during the backward pass takes %.0f%% of the pass's processor time\n",
        100 * profile.exchange_load));
  }
  across.exchange_load = profile.exchange_load;
  // What an exchange in shared memory takes says nothing about one over a network.
  if (found.cluster.ranks == found.cluster.ranks_per_node) across.exchange_load = 0;
  tell(StrCat("**** Predicted, with the exchange ", choice.blocking ? "after" : "during",
              " the backward pass\n",
              FormatScale(across, planned, choice, ScaleAlgorithms(options.network_alg),
                          steps->batch(), options.max_ranks)));
  if (communicator == nullptr) return absl::OkStatus();

  if (communicator->size() > 1) {
    DTNN_ASSIGN_OR_RETURN(
        const std::string check,
        CheckAllReduces(*communicator, found, profile.elements * int64_t(SizeOf(profile.dtype))));
    tell(check);
  }
  const AllReduceAlgorithm here =
      AllReduceAlgorithmFor(found.placement, profile.elements * int64_t(SizeOf(profile.dtype)));
  ExchangeChoice made = choice;
  const LinkCost cost_here = AllReduceCost(here, found.cluster);
  made.bucket_bytes = PredictScale(profile, cost_here, choice).bucket_bytes;
  DTNN_ASSIGN_OR_RETURN(
      const ScaleModelSteps::Comparison steps_here,
      steps->Compare(*communicator, {.bucket_bytes = made.bucket_bytes, .blocking = made.blocking},
                     options.steps));
  StepProfile alone = steps_here.alone;
  alone.exchange_load = profile.exchange_load;
  tell(StrCat("**** Steps of these ranks, buckets of ", FormatBytes(made.bucket_bytes), "\n",
              FormatCheck(communicator->size(), PredictScale(alone, cost_here, made),
                          steps_here.exchanged)));
  return absl::OkStatus();
}

}  // namespace dtnn
