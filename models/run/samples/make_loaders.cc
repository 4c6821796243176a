#include "models/run/samples/make_loaders.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/secrets/crypto/chacha20_stream.h"
#include "data/check_offsets.h"
#include "data/loading/byte_batches.h"
#include "data/loading/split.h"
#include "models/run/options/option_text.h"
#include "models/run/samples/make_transforms.h"
#include "models/run/samples/samples_of_part.h"
#include "models/run/samples/standardization.h"
#include "tensor/errors.h"
#include "tensor/rounding.h"
#include "tensor/text/counted.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

class LoaderMaker {
 public:
  LoaderMaker(const RunOptions& options, std::shared_ptr<const Dataset> dataset, int rank,
              int ranks, Communicator* communicator,
              const std::optional<Normalization>& normalization, const TransformList& transforms)
      : options_(options),
        dataset_(std::move(dataset)),
        rank_(rank),
        ranks_(ranks),
        own_data_(ranks > 1 && !options.ranks.shared_storage),
        communicator_(communicator),
        normalization_(normalization),
        transforms_(transforms) {}

  // Makes them for one client (MakeClientLoaders).
  void SetClient(std::span<const int64_t> samples) { client_ = samples; }

  absl::StatusOr<int64_t> CountTraining() {
    DTNN_RETURN_IF_ERROR(Choose());
    return int64_t(divided_.train.size());
  }

  absl::StatusOr<Loaders> Make() {
    const absl::Status chosen = Choose();
    Loaders loaders;
    if (options_.data.standardize.value_or(false)) {
      // Whatever became of the samples: other ranks wait for this one.
      DTNN_ASSIGN_OR_RETURN(loaders.statistics, Statistics(chosen));
      DTNN_ASSIGN_OR_RETURN(training_.normalization,
                            WithContext(Standardization(*loaders.statistics),
                                        "RunOptions::data.standardize: ", dataset_->name()));
    }
    DTNN_RETURN_IF_ERROR(chosen);
    evaluation_ = training_;
    evaluation_.shuffle = false;
    evaluation_.steps_per_epoch = 0;
    training_.transforms = std::move(transforms_);
    training_.mixup = options_.data.augment.mixup;
    if (options_.training.dp_sgd_clip > 0) {
      DTNN_ASSIGN_OR_RETURN(ChaCha20Stream random, ChaCha20Stream::Random());
      training_.poisson = [stream = std::make_shared<ChaCha20Stream>(std::move(random))](
                              std::span<uint64_t> words) { stream->FillWords(words); };
    }

    // One way for all of a run's samples.
    if (options_.device.gpu) {
      loaders.why_values = WhyNoBytes(*dataset_, training_.transforms, training_.mixup);
      training_.bytes = evaluation_.bytes = loaders.why_values.empty();
    }

    loaders.testing = evaluation_;
    loaders.preprocessing = dataset_->preprocessing();
    AddNormalization(training_.normalization, loaders.preprocessing);
    if (!options_.training.evaluate_only) DTNN_RETURN_IF_ERROR(MakeTraining(loaders));
    if (!client_ && (options_.training.evaluate || options_.training.evaluate_only)) {
      DTNN_ASSIGN_OR_RETURN(loaders.test, MakeTest());
    }
    return loaders;
  }

 private:
  int Threads() const {
    return options_.data.threads > 0 ? int(options_.data.threads) : LoaderThreads(*dataset_);
  }

  // Which samples of the training split are trained on and validated with, and how they are read.
  absl::Status Choose() {
    DTNN_ASSIGN_OR_RETURN(transforms_, MakeTransforms(options_, *dataset_, std::move(transforms_)));
    DTNN_ASSIGN_OR_RETURN(const int64_t batch, BatchSizePerRank(options_, ranks_));
    training_ = {.batch = batch,
                 .rank = own_data_ ? 0 : rank_,
                 .ranks = own_data_ ? 1 : ranks_,
                 .shuffle = options_.data.shuffle,
                 .seed = uint64_t(options_.training.seed) + uint64_t(own_data_ ? rank_ : 0),
                 .steps_per_epoch = int64_t(std::ceil(options_.training.steps_per_epoch)),
                 .format = FormatOf(options_),
                 .dtype = ElementTypeOf(options_),
                 .prefetch = client_ ? 0 : LoaderOptions().prefetch,
                 .threads = Threads()};
    if (options_.data.normalize.value_or(false)) {
      training_.normalization = {.offset = options_.data.normalize_offset,
                                 .scale = options_.data.normalize_scale};
      const absl::Status fits =
          CheckNormalization(training_.normalization, dataset_->sample().channels);
      if (!fits.ok()) {
        return UsageError(
            "RunOptions::data.normalize_offset and RunOptions::data.normalize_scale: ",
            fits.message());
      }
      const absl::Status of_shares =
          CheckOffsets(training_.normalization, dataset_->preprocessing());
      if (!of_shares.ok()) {
        return UsageError("RunOptions::data.normalize_offset=",
                          absl::StrJoin(options_.data.normalize_offset, ","), ": ",
                          of_shares.message());
      }
    }
    if (normalization_) training_.normalization = *normalization_;
    const double held_out = options_.data.test_as_validation ? 0 : options_.data.validation_split;
    DTNN_ASSIGN_OR_RETURN(TrainValidation divided, Divide(held_out));
    if (!ReadsTraining(options_)) return absl::OkStatus();
    if (divided.train.empty() && !divided.validation.empty()) {
      return UsageError(
          "RunOptions::data.validation_split=", ToText(options_.data.validation_split),
          ": leaves no training samples: it takes all ",
          Counted(int64_t(divided.validation.size()), "training sample"), "; give a smaller share");
    }
    if (divided.train.empty()) {
      return InvalidArgument("data set ", dataset_->name(), " has no samples to train on");
    }
    DTNN_ASSIGN_OR_RETURN(divided_.train, Take(Split::kTrain, divided.train));
    DTNN_ASSIGN_OR_RETURN(divided_.validation, Take(Split::kTrain, divided.validation));
    return absl::OkStatus();
  }

  // Divides data.part, where it is given, which no longer comes in groups.
  absl::StatusOr<TrainValidation> Divide(double held_out) const {
    if (client_) return DivideAmong(*client_, held_out);
    DTNN_ASSIGN_OR_RETURN(const DatasetPart part, DatasetPartOf(options_));
    if (part.parts == 1) {
      return SplitIndices(dataset_->size(Split::kTrain), held_out, training_.seed,
                          dataset_->groups(Split::kTrain).begins, dataset_->labels(Split::kTrain));
    }
    DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> mine, SamplesOfPart(options_, *dataset_));
    return DivideAmong(mine, held_out);
  }

  // Divides these samples.
  absl::StatusOr<TrainValidation> DivideAmong(std::span<const int64_t> mine,
                                              double held_out) const {
    if (held_out == 0) return TrainValidation{{mine.begin(), mine.end()}, {}};
    const std::vector<int32_t> labels = dataset_->labels(Split::kTrain);
    std::vector<int32_t> mine_labels;
    for (const int64_t index : mine) {
      if (!labels.empty()) mine_labels.push_back(labels[size_t(index)]);
    }
    DTNN_ASSIGN_OR_RETURN(TrainValidation divided, SplitIndices(int64_t(mine.size()), held_out,
                                                                training_.seed, {}, mine_labels));
    for (std::vector<int64_t>* list : {&divided.train, &divided.validation}) {
      for (int64_t& index : *list) index = mine[size_t(index)];
    }
    return divided;
  }

  absl::StatusOr<ChannelStatistics> Statistics(const absl::Status& chosen) {
    return StatisticsOfJob(communicator_, own_data_, dataset_->sample().channels,
                           [&](const Share& share) -> absl::StatusOr<std::vector<Moments>> {
                             DTNN_RETURN_IF_ERROR(chosen);
                             // data.share may repeat them.
                             std::vector<int64_t> once = divided_.train;
                             std::ranges::sort(once);
                             once.erase(std::unique(once.begin(), once.end()), once.end());
                             return ComputeMoments(*dataset_, Split::kTrain, once, share);
                           });
  }

  absl::Status MakeTraining(Loaders& loaders) {
    // Other ranks may have a part of theirs that is not empty.
    const bool others =
        own_data_ && options_.data.validation_split > 0 && !options_.data.test_as_validation;
    DTNN_ASSIGN_OR_RETURN(loaders.training, Loader::Create(dataset_, Split::kTrain,
                                                           std::move(divided_.train), training_));
    if (!divided_.validation.empty() || others) {
      DTNN_ASSIGN_OR_RETURN(
          loaders.validation,
          Loader::Create(dataset_, Split::kTrain, std::move(divided_.validation), evaluation_));
    } else if (options_.data.test_as_validation) {
      DTNN_ASSIGN_OR_RETURN(loaders.validation, MakeTest());
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<Loader>> MakeTest() {
    // Other ranks may have samples where this one has none.
    if (dataset_->size(Split::kTest) == 0 && !own_data_) {
      return InvalidArgument("data set ", dataset_->name(), " has no test samples, which ",
                             options_.training.evaluate || options_.training.evaluate_only
                                 ? "RunOptions::training.evaluate"
                                 : "RunOptions::data.test_as_validation",
                             " needs; is there a RunOptions::data.test_path?");
    }
    DTNN_ASSIGN_OR_RETURN(std::vector<int64_t> test,
                          Take(Split::kTest, AllIndices(dataset_->size(Split::kTest))));
    return Loader::Create(dataset_, Split::kTest, std::move(test), evaluation_);
  }

  // What data.share takes of some samples of a split.
  absl::StatusOr<std::vector<int64_t>> Take(Split split,
                                            const std::vector<int64_t>& indices) const {
    return WithContext(
        TakeFraction(indices, options_.data.share, training_.seed, dataset_->groups(split).begins),
        "RunOptions::data.share=", options_.data.share);
  }

  const RunOptions& options_;
  const std::shared_ptr<const Dataset> dataset_;
  const int rank_, ranks_;
  const bool own_data_;  // of every rank
  Communicator* const communicator_;
  const std::optional<Normalization> normalization_;
  std::optional<std::span<const int64_t>> client_;  // samples
  TrainValidation divided_;                         // less what data.share leaves out
  TransformList transforms_;                        // of training samples
  LoaderOptions training_, evaluation_;
};

}  // namespace

absl::StatusOr<Loaders> MakeLoaders(const RunOptions& options,
                                    std::shared_ptr<const Dataset> dataset, int rank, int ranks,
                                    Communicator* communicator,
                                    const std::optional<Normalization>& normalization,
                                    const TransformList& transforms) {
  return LoaderMaker(options, std::move(dataset), rank, ranks, communicator, normalization,
                     transforms)
      .Make();
}

absl::StatusOr<Loaders> MakeClientLoaders(const RunOptions& options,
                                          std::shared_ptr<const Dataset> dataset,
                                          std::span<const int64_t> samples) {
  LoaderMaker maker(options, std::move(dataset), 0, 1, nullptr, {}, {});
  maker.SetClient(samples);
  return maker.Make();
}

absl::StatusOr<int64_t> CountClientSamples(const RunOptions& options,
                                           std::shared_ptr<const Dataset> dataset,
                                           std::span<const int64_t> samples) {
  LoaderMaker maker(options, std::move(dataset), 0, 1, nullptr, {}, {});
  maker.SetClient(samples);
  return maker.CountTraining();
}

std::string DescribeLargeBatch(const RunOptions& options, const Loaders& loaders) {
  if (loaders.training == nullptr) return "";
  const int64_t samples = loaders.training->samples(), batch = loaders.training->options().batch;
  const int64_t ranks = loaders.training->options().ranks;  // 1: of data of its own
  const int64_t share = CeilDiv(samples, ranks);
  if (batch <= share) return "";
  const bool global = options.training.global_batch.has_value();
  std::string text =
      global ? StrCat("RunOptions::training.global_batch=", *options.training.global_batch)
             : StrCat("RunOptions::training.batch=", batch);
  StrAppend(&text, ": is more than ", global || ranks == 1 ? "the " : "a rank's share of the ",
            Counted(samples, "sample"), " to train on");
  if (!global && ranks > 1) StrAppend(&text, ", ", share);
  return text + ": every step takes all of them";
}

}  // namespace dtnn
