#include "models/run/prepare/prepared_run.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "comm/ranks/elastic/elastic_range.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/ranks.h"
#include "kernels/device/device_traits.h"
#include "models/run/options/in_force.h"
#include "models/run/parts/make_device.h"
#include "models/run/parts/make_encryption.h"
#include "models/run/parts/make_schedulers.h"
#include "models/run/parts/make_training.h"
#include "models/run/parts/model_file.h"
#include "models/run/parts/rank_options.h"
#include "models/run/prepare/descriptions.h"
#include "models/run/prepare/prepare_steps.h"
#include "models/run/prepare/run_memory.h"
#include "models/run/prepare/tune_run.h"
#include "models/run/samples/standardization.h"
#include "models/run/samples/test_loader.h"
#include "tensor/errors.h"
#include "tensor/machine/available_memory.h"
#include "tensor/status_macros.h"
#include "tensor/text/counted.h"
#include "tensor/text/str_cat.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

// Where there are too few samples for validation, schedulers watch what there is.
void FollowSamples(PreparedRun& run, RunLog& log) {
  if (run.loaders.training == nullptr || run.loaders.validation != nullptr ||
      run.options.data.validation_split == 0) {
    return;
  }
  if (WatchTraining(run.options)) {
    log.Warn(StrCat("RunOptions::data.validation_split=", run.options.data.validation_split,
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

// In an elastic run each rank must find a sample, however many there are.
absl::Status CheckSamplesOfRanks(const PreparedRun& run) {
  if (run.options.ranks.elastic.empty()) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const ElasticRange range, ElasticRange::Parse(run.options.ranks.elastic));
  for (const auto* loader : {&run.loaders.training, &run.loaders.validation, &run.loaders.test}) {
    if (*loader == nullptr || (*loader)->samples() >= range.max) continue;
    return UsageError("RunOptions::ranks.elastic=", run.options.ranks.elastic, ": there may be ",
                      range.max, " ranks, but a part of the data has only ",
                      Counted((*loader)->samples(), "sample"));
  }
  return absl::OkStatus();
}

absl::Status PrepareLoaders(PreparedRun& run, RunLog& log) {
  std::optional<Normalization> normalization;
  if (run.initial_model) {
    normalization = NormalizationFor(*run.initial_model, run.options, *run.dataset);
  }
  DTNN_ASSIGN_OR_RETURN(run.loaders,
                        MakeLoaders(run.options, run.dataset, run.rank, run.ranks, run.communicator,
                                    normalization, run.objects.transforms));
  if (run.loaders.statistics) {
    log.Log(StrCat("**** Standardising: ", Describe(*run.loaders.statistics), "\n"));
  }
  FollowSamples(run, log);
  log.Log(DescribeSamples(*run.dataset, run.loaders));
  log.LogVerbose(DescribeLoaders(run.loaders));
  DTNN_RETURN_IF_ERROR(CheckSamplesOfRanks(run));
  const std::string odd = DescribeLargeBatch(run.options, run.loaders);
  if (!odd.empty()) log.Warn(odd);
  return CheckMemoryOfRun(run);
}

}  // namespace

RankPlace PlaceOf(const PreparedRun& run) {
  return run.communicator == nullptr ? RankPlace{} : run.communicator->place();
}

PreparedRun::PreparedRun(const RunOptions& given, RunObjects objects, bool goes_on)
    : objects(std::move(objects)),
      communicator(this->objects.communicator),
      rank(communicator == nullptr ? 0 : communicator->rank()),
      ranks(communicator == nullptr ? 1 : communicator->size()),
      goes_on(goes_on),
      options(OptionsOfRank(given, rank, ranks)),
      checkpoint_folder(options.checkpoint.folder),
      dataset(this->objects.dataset) {
  if (this->objects.loss != nullptr) options.training.loss = this->objects.loss->name();
  if (this->objects.optimizer != nullptr) {
    options.optimizer.name = this->objects.optimizer->name();
  }
  const auto name = [](const auto& own, OptionNames& list) {
    if (own.empty()) return;
    std::vector<std::string> names;
    for (const auto& object : own) names.emplace_back(object->name());
    list = std::move(names);
  };
  name(this->objects.metrics, options.training.metrics);
  name(this->objects.schedulers, options.schedule.schedulers);
}

bool PreparedRun::Writes() const { return rank == 0 || !options.ranks.shared_storage; }

bool PreparedRun::WritesCheckpoints() const { return rank == 0 || OwnCheckpoints(options); }

absl::StatusOr<std::unique_ptr<Loader>> PreparedRun::MakeTestLoader(
    std::shared_ptr<const Dataset> data, Split split, bool undivided) const {
  DTNN_RETURN_IF_ERROR(CheckFits(*data));
  if (data->target_kind() != dataset->target_kind()) {
    return InvalidArgument("data set ", data->name(), " has ", Name(data->target_kind()),
                           " to predict, but the run was made for ", Name(dataset->target_kind()));
  }
  DTNN_RETURN_IF_ERROR(CheckMetrics(metric_set, *data));
  const bool own_data = ranks > 1 && !options.ranks.shared_storage;
  if (data->size(split) == 0 && !own_data) {
    const bool unread = data == dataset && objects.dataset == nullptr && split == Split::kTest &&
                        !ReadsTest(options);
    return InvalidArgument(
        "data set ", data->name(), " has no ", split == Split::kTrain ? "training" : "test",
        " samples",
        unread ? ", because test samples are only read with RunOptions::training.evaluate=True"
               : "; test with a data set that has some");
  }
  const double share = data == dataset ? options.data.share : 0;
  return TestLoader(loaders, std::move(data), split, share, undivided);
}

absl::Status PreparedRun::Prepare(RunLog& log) {
  DTNN_RETURN_IF_ERROR(Agree(communicator, LoadData(*this, log)));
  DTNN_RETURN_IF_ERROR(Agree(communicator, CompareWithOthers(*this, log)));
  DTNN_RETURN_IF_ERROR(Agree(communicator, MakeNetwork(*this, log)));
  DTNN_RETURN_IF_ERROR(Agree(communicator, WeighClasses(*this, log)));
  DTNN_RETURN_IF_ERROR(Agree(communicator, PrepareLoaders(*this, log)));
  if (encryption_key) {
    auto sum = MakeEncryptedSum(options, *encryption_key, *communicator);
    DTNN_RETURN_IF_ERROR(Agree(communicator, sum.status()));
    encrypted_sum = *std::move(sum);
  }
  auto joined = MakeCollectives(options, communicator, *context);
  DTNN_RETURN_IF_ERROR(Agree(communicator, joined.status()));
  collectives = *std::move(joined);
  if (options.device.nccl && options.device.gpu && ranks > 1 && collectives == nullptr) {
    log.Warn(
        "RunOptions::device.nccl: simulated GPUs of several processes share no memory; gradients "
        "are summed "
        "in the hosts' memory");
  }
  options = InForce(std::move(options));
  if (!TunesRun(*this)) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(TuneRun(*this, log));
  return Agree(communicator, CheckMemoryOfRun(*this));
}

}  // namespace dtnn
