#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "comm/ranks/job/exit_code.h"
#include "kernels/device/device_traits.h"
#include "models/graph/table.h"
#include "models/plan/fusion.h"
#include "models/run/options/in_force.h"
#include "models/run/options/option_text.h"
#include "models/run/parts/class_weights.h"
#include "models/run/parts/make_device.h"
#include "models/run/parts/make_model.h"
#include "models/run/parts/make_trainer_options.h"
#include "models/run/parts/make_training.h"
#include "models/run/parts/model_file.h"
#include "models/run/prepare/descriptions.h"
#include "models/run/prepare/prepare_steps.h"
#include "models/run/prepare/prepared_run.h"
#include "tensor/errors.h"
#include "tensor/status_macros.h"
#include "tensor/text/counted.h"
#include "tensor/text/str_cat.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

// Where one of them was asked for, or a verbose log.
void LogFusions(const PreparedRun& run, RunLog& log) {
  Fusions fusions = MakeFusions(run.options);
  const DeviceTraits traits = TraitsOf(run.context->device());
  if (!traits.FoldsNormalizations(run.graph.format())) {
    fusions.conv_bn = fusions.conv_bn_relu = false;
  }
  const bool asked = run.options.device.fusions != FusionOptions{};
  for (const std::string& line : DescribeFusions(run.graph, fusions, traits.kind)) {
    const std::string text = StrCat("Fusing ", line, "...\n");
    asked ? log.Log(text) : log.LogVerbose(text);
  }
}

// Where labels need more outputs than a network has: the first that does, or "".
std::string LabelBeyond(const Dataset& data, int64_t outputs) {
  if (!data.counts_classes()) return "";
  for (const auto& [split, name] :
       {std::pair(Split::kTrain, "training"), std::pair(Split::kTest, "test")}) {
    const std::vector<int32_t> labels = data.labels(split);
    const auto high = std::ranges::find_if(labels, [&](int32_t label) { return label >= outputs; });
    if (high == labels.end()) continue;
    return StrCat("; the label of ", name, " sample ", high - labels.begin(), " is ", *high,
                  ", expected 0 to ", outputs - 1);
  }
  return "";
}

// The network, the parameters of the run, and what it runs on.
absl::Status Introduce(const PreparedRun& run, RunLog& log) {
  const Device device = run.context->device();
  const DType dtype = ElementTypeOf(run.options);
  const bool all = log.verbose();
  std::string parameters;
  if (run.objects.listing.parameters) {
    const RunFacts facts = {.mpi_processes = run.ranks,
                            .threads_per_process = NumThreads(),
                            .gpus_per_node = GpusPerHost(run.options, PlaceOf(run))};
    DTNN_ASSIGN_OR_RETURN(parameters, run.objects.listing.parameters(run.options, facts, all));
  }
  std::string text =
      StrCat("**** ", run.graph.name(), " model...\n",
             all ? FormatTable(run.graph, dtype, device) : FormatSummary(run.graph, dtype),
             parameters, "**** Running on ", device.ToString());
  if (const MathMode mode = run.context->math_mode(); mode != MathMode::kFp32) {
    StrAppend(&text, " in ", Name(mode));
  }
  const std::string instructions = TraitsOf(device).instructions;
  if (!instructions.empty()) {
    StrAppend(&text, " (", Counted(NumThreads(), "thread"), ", ", instructions, ")");
  }
  if (run.ranks > 1) StrAppend(&text, " on each of ", run.ranks, " ranks");
  log.Log(text + "\n");
  if (run.ranks == 1 && run.options.ranks.parallel == Parallel::kData) {
    log.Log("**** One rank: trains alone\n");
  }
  if (run.ranks > 1 && run.options.optimizer.learning_rate_scaling != RateScaling::kNone) {
    log.Log(StrCat("**** Learning rate of ", run.ranks,
                   " ranks: ", InitialLearningRate(run.options, run.ranks), "\n"));
  }
  log.LogVerbose(DescribeKernels(run.graph, run.options, device));
  LogFusions(run, log);
  return absl::OkStatus();
}

}  // namespace

// Data and losses, which do not know each other, mean the same.
static_assert(kUnlabelledPixel == kIgnoredPixel);

absl::Status PreparedRun::CheckFits(const Dataset& data) const {
  const ImageExtents sample = ExtentsOf(graph.input_shape(), graph.format());
  const int64_t outputs = OutputsOf(graph);
  const bool pixels = graph.output_shape().rank() == 3;
  if (pixels != (data.target_kind() == TargetKind::kPixels)) {
    return InvalidArgument("network ", graph.name(),
                           pixels ? " gives a class for each pixel" : " gives no image",
                           ", but data set ", data.name(), " has ", Name(data.target_kind()),
                           pixels ? ", one per sample" : "; unet gives a class for each pixel");
  }
  if (pixels) {
    const ImageExtents image = ExtentsOf(graph.output_shape(), graph.format());
    if (image.height != data.sample().height || image.width != data.sample().width) {
      return InvalidArgument("network ", graph.name(), " gives classes for ", image.height, " x ",
                             image.width, " pixels, but data set ", data.name(), " has labels of ",
                             data.sample().height, " x ", data.sample().width);
    }
  }
  if (sample == data.sample() && outputs == data.outputs()) return absl::OkStatus();
  return InvalidArgument("network ", graph.name(), " takes samples of ", ToString(sample),
                         " (height x width x channels) and has ", outputs,
                         " outputs, but data set ", data.name(), " has samples of ",
                         ToString(data.sample()), " and ", data.outputs(), " outputs",
                         LabelBeyond(data, outputs));
}

absl::Status MakeNetwork(PreparedRun& run, RunLog& log) {
  const std::vector<Shared<const Metric>>& own = run.objects.metrics;
  if (own.empty()) FollowTargets(*run.dataset, run.options);
  DTNN_ASSIGN_OR_RETURN(run.metric_set,
                        MakeMetricSet(run.options, run.objects.loss, {own.begin(), own.end()}));
  run.metric_set.class_names =
      std::make_shared<const std::vector<std::string>>(run.dataset->class_names());
  DTNN_RETURN_IF_ERROR(CheckMetrics(run.metric_set, *run.dataset));
  const TargetKind targets = run.dataset->target_kind();
  if (run.dataset->outputs() == 1 && targets != TargetKind::kValues) {
    return UsageError(
        "RunOptions::data.name: the ", targets == TargetKind::kPixels ? "pixels" : "samples",
        " of ", run.dataset->name(), " all have the same class, so there is nothing to learn");
  }
  if (run.initial_model) {
    DTNN_ASSIGN_OR_RETURN(run.graph, NetworkFor(*run.initial_model, run.options,
                                                DatasetSize{.sample = run.dataset->sample(),
                                                            .outputs = run.dataset->outputs()}));
    DTNN_RETURN_IF_ERROR(run.CheckFits(*run.dataset));
    DTNN_ASSIGN_OR_RETURN(run.graph, FreezeLayers(run.options, std::move(run.graph)));
    return Introduce(run, log);
  }
  if (run.objects.network) {
    run.options.network.name = run.objects.network->name();
    DTNN_ASSIGN_OR_RETURN(run.graph,
                          run.objects.network->Build(FormatOf(run.options), *run.metric_set.loss));
    DTNN_RETURN_IF_ERROR(run.CheckFits(*run.dataset));
    DTNN_ASSIGN_OR_RETURN(run.graph, FreezeLayers(run.options, std::move(run.graph)));
    return Introduce(run, log);
  }
  DTNN_ASSIGN_OR_RETURN(
      run.graph,
      MakeModel(run.options, {.format = FormatOf(run.options),
                              .sample = run.dataset->sample(),
                              .classes = run.dataset->outputs(),
                              .final_activation = run.metric_set.loss->final_activation()}));
  DTNN_RETURN_IF_ERROR(run.CheckFits(*run.dataset));
  return Introduce(run, log);
}

absl::Status WeighClasses(PreparedRun& run, RunLog& log) {
  if (run.options.training.class_weights.empty() || run.options.training.evaluate_only)
    return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const std::vector<double> weights,
                        MakeClassWeights(run.options, *run.dataset, run.communicator));
  DTNN_ASSIGN_OR_RETURN(run.training_loss, MakeWeightedLoss(run.options, weights));
  // The weights, and not where they stood, are what makes this run the same run.
  if (HasClassWeightsFile(run.options)) {
    run.options.training.class_weights =
        absl::StrJoin(weights, ",", [](std::string* text, double weight) {
          text->append(ToText(weight));  // all digits
        });
  }
  log.Log(DescribeClassWeights(*run.dataset, weights));
  return absl::OkStatus();
}

}  // namespace dtnn
