#include "apps/launcher/prepared_run.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/federation/fit_classes.h"
#include "apps/launcher/run_memory.h"
#include "apps/launcher/tune_run.h"
#include "apps/launcher/verbose.h"
#include "apps/make/best_of_file.h"
#include "apps/make/class_weights.h"
#include "apps/make/make_dataset.h"
#include "apps/make/make_device.h"
#include "apps/make/make_encryption.h"
#include "apps/make/make_model.h"
#include "apps/make/make_schedulers.h"
#include "apps/make/make_trainer_options.h"
#include "apps/make/make_training.h"
#include "apps/make/rank_options.h"
#include "apps/make/standardization.h"
#include "apps/model_file/model_file.h"
#include "apps/printing/parameter_list.h"
#include "apps/tracing/run_board.h"
#include "apps/tracing/run_page.h"
#include "apps/tracing/run_trace.h"
#include "comm/federation/client/ask_classes.h"
#include "comm/gather_values.h"
#include "comm/ranks/elastic/elastic_range.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/interrupt.h"
#include "comm/ranks/job/ranks.h"
#include "data/datasets/more_classes.h"
#include "data/preprocessing.h"
#include "kernels/device/kept_plans.h"
#include "kernels/device_traits.h"
#include "models/callbacks/history.h"
#include "models/graph/table.h"
#include "models/plan/fusion.h"
#include "models/training/ranks/same_data.h"
#include "tensor/errors.h"
#include "tensor/files/array_file.h"
#include "tensor/machine/available_memory.h"
#include "tensor/status_macros.h"
#include "tensor/text/counted.h"
#include "tensor/text/one_line.h"
#include "tensor/text/str_cat.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

// What the run will write to must take it: a run of hours must not find out at its end.
absl::Status PrepareOutput(PreparedRun& run, RunVoice& voice) {
  if (run.Writes()) DTNN_RETURN_IF_ERROR(CheckModelFile(run.options.output.model));
  DTNN_RETURN_IF_ERROR(CheckTraceFiles(run.options, run.rank));
  if (run.rank == 0 && TunesRun(run)) DTNN_RETURN_IF_ERROR(CheckBestOfFile(run.options));
  if (run.options.training.evaluate_only) return absl::OkStatus();
  if (run.Writes()) DTNN_RETURN_IF_ERROR(CheckReportFile(run.options));
  if (run.Writes()) DTNN_RETURN_IF_ERROR(CheckBoard(run.options));
  if (run.Writes()) DTNN_RETURN_IF_ERROR(MakeModelFolder(run.options.schedule.model_folder));
  if (run.Writes() && !run.options.output.history.empty()) {
    DTNN_RETURN_IF_ERROR(WithContext(History::Check(run.options.output.history), "--history-file"));
  }
  if (run.options.checkpoint.folder.empty() || !run.WritesCheckpoints()) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(
      const std::vector<std::string> warnings,
      run.checkpoint_folder.Prepare(Resumes(run.options) || run.goes_on, run.goes_on));
  for (const std::string& warning : warnings) voice.WarnOfCheckpoint(warning);
  return absl::OkStatus();
}

RankPlace PlaceOf(const PreparedRun& run) {
  return run.communicator == nullptr ? RankPlace{} : run.communicator->place();
}

// The folder of --cudnn-plans; null without it.
absl::StatusOr<std::shared_ptr<const KeptPlans>> OpenPlans(const PreparedRun& run,
                                                           RunVoice& voice) {
  if (run.options.device.cudnn_plans.empty() || !MakesPlans(run.options)) return nullptr;
  constexpr std::string_view kOption = "--cudnn-plans";
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<KeptPlans> plans,
                        WithContext(KeptPlans::Open(run.options.device.cudnn_plans,
                                                    [&voice, kOption](std::string_view line) {
                                                      voice.Warn(StrCat(kOption, ": ", line));
                                                    }),
                                    kOption));
  return plans;
}

// The outputs of a network that was trained before have their meaning: the data's labels follow the
// names of its classes. A network of --model that trains on learns another meaning, with a warning.
absl::Status FollowClasses(PreparedRun& run, RunVoice& voice) {
  const std::string& path = run.options.network.weights;
  if (path.empty()) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(ArrayFileReader file, ArrayFileReader::Open(path));
  DTNN_ASSIGN_OR_RETURN(const std::optional<ModelDescription> trained, FindDescription(file));
  if (!trained) return absl::OkStatus();
  const bool of_file = run.initial_model.has_value();
  if (!of_file && !trained->loss.empty() && trained->loss != run.options.training.loss) {
    voice.Warn(StrCat(path, ": was trained with loss ", OneLine(trained->loss, 80),
                      "; this run has --loss-func=", run.options.training.loss));
  }
  const bool learns = !of_file && !run.options.training.evaluate_only;
  // A network of another size takes other parameters for its outputs.
  if (learns && int64_t(trained->class_names.size()) != run.dataset->outputs()) {
    return absl::OkStatus();
  }
  auto named = WithContext(WithClassNames(run.dataset, trained->class_names), path);
  if (!named.ok() && learns) {
    voice.Warn(StrCat(named.status().message(), "; its outputs get another meaning"));
    return absl::OkStatus();
  }
  DTNN_ASSIGN_OR_RETURN(run.dataset, std::move(named));
  return absl::OkStatus();
}

absl::Status LoadData(PreparedRun& run, RunVoice& voice) {
  if (run.options.sync.min_available > run.ranks) {
    return UsageError("--model-sync-min-avail=", run.options.sync.min_available,
                      ": must be at most the number of ranks, ", run.ranks);
  }
  DTNN_ASSIGN_OR_RETURN(std::shared_ptr<const KeptPlans> plans, OpenPlans(run, voice));
  DTNN_ASSIGN_OR_RETURN(run.context, MakeDevice(run.options, PlaceOf(run)));
  run.context->KeepPlans(std::move(plans));
  DTNN_ASSIGN_OR_RETURN(run.optimizer, MakeOptimizer(run.options));
  if (run.options.ranks.parallel == "federated") {
    run.proximal = std::make_shared<ProximalOptimizer>(run.optimizer);
    run.optimizer = run.proximal;
    DTNN_ASSIGN_OR_RETURN(run.client, FindClientPlace(run.options));
    if (!run.client->meeting.warning.empty()) voice.Warn(run.client->meeting.warning);
  }
  if (EncryptsSums(run.options) && run.ranks == 1) {
    voice.Warn("--encryption has no effect with one rank, which sends nothing");
  } else if (EncryptsSums(run.options)) {
    DTNN_ASSIGN_OR_RETURN(run.encryption_key, ReadKeyOfRanks(run.options));
  }
  DTNN_RETURN_IF_ERROR(PrepareOutput(run, voice));
  if (!run.options.network.weights.empty()) {  // before the data are read
    DTNN_RETURN_IF_ERROR(ArrayFileReader::Open(run.options.network.weights).status());
  }
  if (run.options.network.name.empty()) {
    DTNN_ASSIGN_OR_RETURN(run.initial_model, ReadModelToRun(run.options.network.weights));
    DTNN_RETURN_IF_ERROR(FollowModel(*run.initial_model, run.options));
  }
  if (run.dataset == nullptr) {
    voice.Tell(StrCat("**** Loading ", run.options.data.name, " dataset...\n"));
    DTNN_ASSIGN_OR_RETURN(run.dataset, MakeDataset(run.options, SampleOf(run.initial_model)));
    for (const std::string& warning : run.dataset->warnings()) voice.Warn(warning);
    DTNN_RETURN_IF_ERROR(FollowClasses(run, voice));
  }
  const bool shared = run.communicator != nullptr && run.options.ranks.shared_storage;
  if (!shared && run.options.checkpoint.folder.empty()) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(run.train_data, Fingerprint(*run.dataset, Split::kTrain));
  DTNN_ASSIGN_OR_RETURN(run.test_data, Fingerprint(*run.dataset, Split::kTest));
  return absl::OkStatus();
}

// A client of a federation: its own data may lack classes that the network has.
absl::Status FollowAggregator(PreparedRun& run, RunVoice& voice) {
  DTNN_ASSIGN_OR_RETURN(
      const federation::Classes classes,
      federation::AskClasses(
          {.place = run.client->meeting.place,
           .timeout = std::chrono::milliseconds(int64_t(1000 * run.options.ranks.timeout)),
           .warn = [&voice](std::string_view line) { voice.Warn(line); },
           .interrupted = [] { return Interrupt::Last() != 0; }},
          run.client->meeting.secret));
  DTNN_ASSIGN_OR_RETURN(run.dataset, FitClasses(run.dataset, classes));
  return absl::OkStatus();
}

// Ranks that share files must have found the same data, and name what they write alike; those
// with data of their own must have found the same classes.
absl::Status CompareWithOthers(PreparedRun& run, RunVoice& voice) {
  if (run.client) return FollowAggregator(run, voice);
  if (run.communicator == nullptr) return absl::OkStatus();
  if (!run.options.ranks.shared_storage) {
    DTNN_ASSIGN_OR_RETURN(run.dataset, AgreeOnClasses(*run.communicator, run.dataset));
    return absl::OkStatus();
  }
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> dates,
                        GatherValues(*run.communicator, run.date));
  run.date = dates[0];
  return CompareData(*run.communicator, {run.train_data, run.test_data});
}

// To who has asked for one of them, or for more words.
void TellFusions(const PreparedRun& run, RunVoice& voice) {
  Fusions fusions = MakeFusions(run.options);
  const DeviceTraits traits = TraitsOf(run.context->device());
  if (!traits.FoldsNormalizations(run.graph.format())) {
    fusions.conv_bn = fusions.conv_bn_relu = false;
  }
  const bool asked = std::ranges::any_of(
      run.options.given, [](std::string_view name) { return name.starts_with("enable-fused-"); });
  for (const std::string& line : DescribeFusions(run.graph, fusions, traits.kind)) {
    const std::string text = StrCat("Fusing ", line, "...\n");
    asked ? voice.Tell(text) : voice.TellMore(text);
  }
}

// The network, the parameters of the run, and what it runs on.
absl::Status Introduce(const PreparedRun& run, RunVoice& voice) {
  const Device device = run.context->device();
  const DType dtype = ElementTypeOf(run.options);
  const bool all = voice.tells_more();
  DTNN_ASSIGN_OR_RETURN(
      const std::string parameters,
      (all ? FormatParameterList : FormatShortParameterList)(
          run.options, {.mpi_processes = run.ranks,
                        .threads_per_process = NumThreads(),
                        .gpus_per_node = GpusPerHost(run.options, PlaceOf(run))}));
  voice.Tell(StrCat("**** ", run.graph.name(), " model...\n",
                    all ? FormatTable(run.graph, dtype, device) : FormatSummary(run.graph, dtype),
                    parameters, "**** Running on ", device.ToString()));
  if (const MathMode mode = run.context->math_mode(); mode != MathMode::kFp32) {
    voice.Tell(StrCat(" in ", Name(mode)));
  }
  const std::string instructions = TraitsOf(device).instructions;
  if (!instructions.empty()) {
    voice.Tell(StrCat(" (", Counted(NumThreads(), "thread"), ", ", instructions, ")"));
  }
  if (run.ranks > 1) voice.Tell(StrCat(" on each of ", run.ranks, " ranks"));
  voice.Tell("\n");
  if (run.ranks == 1 && run.options.ranks.parallel == "data") {
    voice.Tell("**** One rank: trains alone. mpirun -n 2 or launch -n 2 starts two\n");
  }
  if (run.ranks > 1 && run.options.optimizer.learning_rate_scaling != "False") {
    voice.Tell(StrCat("**** Learning rate of ", run.ranks,
                      " ranks: ", InitialLearningRate(run.options, run.ranks), "\n"));
  }
  voice.TellMore(DescribeKernels(run.graph, run.options, device));
  TellFusions(run, voice);
  return absl::OkStatus();
}

absl::Status MakeNetwork(PreparedRun& run, RunVoice& voice) {
  FollowTargets(*run.dataset, run.options);
  DTNN_ASSIGN_OR_RETURN(run.metric_set, MakeMetricSet(run.options));
  run.metric_set.class_names =
      std::make_shared<const std::vector<std::string>>(run.dataset->class_names());
  DTNN_RETURN_IF_ERROR(CheckMetrics(run.metric_set, *run.dataset));
  if (run.dataset->outputs() == 1 && run.dataset->target_kind() == TargetKind::kClass) {
    return UsageError("--dataset: the samples of ", run.dataset->name(),
                      " all have the same class, so there is nothing to learn");
  }
  if (run.initial_model) {
    DTNN_ASSIGN_OR_RETURN(run.graph, NetworkFor(*run.initial_model, run.options,
                                                DatasetSize{.sample = run.dataset->sample(),
                                                            .outputs = run.dataset->outputs()}));
    DTNN_ASSIGN_OR_RETURN(run.graph, FreezeLayers(run.options, std::move(run.graph)));
    return Introduce(run, voice);
  }
  DTNN_ASSIGN_OR_RETURN(
      run.graph,
      MakeModel(run.options, {.format = FormatOf(run.options),
                              .sample = run.dataset->sample(),
                              .classes = run.dataset->outputs(),
                              .final_activation = run.metric_set.loss->final_activation()}));
  return Introduce(run, voice);
}

absl::Status WeighClasses(PreparedRun& run, RunVoice& voice) {
  if (run.options.training.class_weights.empty() || run.options.training.evaluate_only)
    return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const std::vector<double> weights,
                        MakeClassWeights(run.options, *run.dataset, run.communicator));
  DTNN_ASSIGN_OR_RETURN(run.training_loss, MakeWeightedLoss(run.options, weights));
  voice.Tell(DescribeClassWeights(*run.dataset, weights));
  return absl::OkStatus();
}

// Where there are too few samples for validation, schedulers watch what there is.
void FollowSamples(PreparedRun& run, RunVoice& voice) {
  if (run.loaders.training == nullptr || run.loaders.validation != nullptr ||
      run.options.data.validation_split == 0) {
    return;
  }
  if (WatchTraining(run.options)) {
    voice.Warn(StrCat("--validation-split=", run.options.data.validation_split,
                      ": leaves no validation samples out of ",
                      Counted(run.loaders.training->samples(), "sample"),
                      "; schedulers watch the training metrics instead"));
  }
}

// Before any rank takes memory that another still counts as left.
absl::Status CheckMemoryOfRun(PreparedRun& run) {
  const DeviceTraits traits = TraitsOf(run.context->device());
  if (run.options.force || !traits.in_host_memory) return absl::OkStatus();
  RunBatches batches;
  if (run.loaders.training != nullptr) batches.training = run.loaders.training->max_batch();
  for (const auto* loader : {&run.loaders.validation, &run.loaders.test}) {
    if (*loader == nullptr) continue;
    batches.testing = std::max(batches.testing, (*loader)->max_batch());
  }
  for (const auto* loader : {&run.loaders.training, &run.loaders.validation, &run.loaders.test}) {
    if (*loader != nullptr) batches.ahead += SamplesAhead((*loader)->max_batch());
  }
  DTNN_ASSIGN_OR_RETURN(
      const RunMemory memory,
      MeasureMemory(run.options, run.graph, *run.metric_set.loss,
                    run.options.training.evaluate_only ? nullptr : run.optimizer.get(),
                    *run.context, batches, run.ranks, run.best_of ? &*run.best_of : nullptr));
  return CheckMemory(memory, FindAvailableMemory(), PlaceOf(run).node_size);
}

// Of a run whose ranks come and go each must find a sample, however many there are.
absl::Status CheckSamplesOfRanks(const PreparedRun& run) {
  if (run.options.ranks.elastic.empty()) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const ElasticRange range, ElasticRange::Parse(run.options.ranks.elastic));
  for (const auto* loader : {&run.loaders.training, &run.loaders.validation, &run.loaders.test}) {
    if (*loader == nullptr || (*loader)->samples() >= range.max) continue;
    return UsageError("--elastic=", run.options.ranks.elastic, ": there may be ", range.max,
                      " ranks, but a part of the data has only ",
                      Counted((*loader)->samples(), "sample"));
  }
  return absl::OkStatus();
}

absl::Status PrepareLoaders(PreparedRun& run, RunVoice& voice) {
  std::optional<Normalization> normalization;
  if (run.initial_model) {
    normalization = NormalizationFor(*run.initial_model, run.options, *run.dataset);
  }
  DTNN_ASSIGN_OR_RETURN(run.loaders, MakeLoaders(run.options, run.dataset, run.rank, run.ranks,
                                                 run.communicator, normalization));
  if (run.loaders.statistics) {
    voice.Tell(StrCat("**** Standardising: ", Describe(*run.loaders.statistics), "\n"));
  }
  FollowSamples(run, voice);
  voice.Tell(DescribeSamples(*run.dataset, run.loaders));
  voice.TellMore(DescribeLoaders(run.loaders));
  DTNN_RETURN_IF_ERROR(CheckSamplesOfRanks(run));
  const std::string odd = DescribeLargeBatch(run.options, run.loaders);
  if (!odd.empty()) voice.Warn(odd);
  return CheckMemoryOfRun(run);
}

}  // namespace

PreparedRun::PreparedRun(const Options& given, Communicator* communicator, bool goes_on)
    : communicator(communicator),
      rank(communicator == nullptr ? 0 : communicator->rank()),
      ranks(communicator == nullptr ? 1 : communicator->size()),
      goes_on(goes_on),
      options(OptionsOfRank(given, rank, ranks)),
      checkpoint_folder(options.checkpoint.folder) {}

bool PreparedRun::Writes() const { return rank == 0 || !options.ranks.shared_storage; }

bool PreparedRun::WritesCheckpoints() const { return rank == 0 || OwnCheckpoints(options); }

absl::Status PreparedRun::Prepare(RunVoice& voice) {
  DTNN_RETURN_IF_ERROR(Agree(communicator, LoadData(*this, voice)));
  DTNN_RETURN_IF_ERROR(Agree(communicator, CompareWithOthers(*this, voice)));
  DTNN_RETURN_IF_ERROR(Agree(communicator, MakeNetwork(*this, voice)));
  DTNN_RETURN_IF_ERROR(Agree(communicator, WeighClasses(*this, voice)));
  DTNN_RETURN_IF_ERROR(Agree(communicator, PrepareLoaders(*this, voice)));
  if (encryption_key) {
    auto sum = MakeEncryptedSum(options, *encryption_key, *communicator);
    DTNN_RETURN_IF_ERROR(Agree(communicator, sum.status()));
    encrypted_sum = *std::move(sum);
  }
  auto joined = MakeCollectives(options, communicator, *context);
  DTNN_RETURN_IF_ERROR(Agree(communicator, joined.status()));
  collectives = *std::move(joined);
  if (options.device.nccl && options.device.gpu && ranks > 1 && collectives == nullptr) {
    voice.Warn(
        "--enable-nccl: simulated GPUs of several processes share no memory; gradients are summed "
        "in the hosts' memory");
  }
  if (!TunesRun(*this)) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(TuneRun(*this, voice));
  return Agree(communicator, CheckMemoryOfRun(*this));
}

}  // namespace dtnn
