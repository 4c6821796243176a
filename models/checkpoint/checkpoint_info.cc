#include "models/checkpoint/checkpoint_info.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <map>

#include "data/transforms/crop.h"
#include "data/transforms/flip.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "models/checkpoint/checkpoint.pb.h"
#include "tensor/errors.h"
#include "tensor/text/json_text.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr int64_t kVersion = 1;

void ToProto(const SampleTreatment& treatment, proto::SampleTreatment* message) {
  message->set_shuffle(treatment.shuffle);
  for (const std::string& transform : treatment.transforms) message->add_transforms(transform);
  for (double offset : treatment.normalization.offset) message->add_offset(offset);
  for (double scale : treatment.normalization.scale) message->add_scale(scale);
}

// The transforms, also of a message that has them as numbers.
std::vector<std::string> TransformsOf(const proto::SampleTreatment& message) {
  TransformList old;
  if (message.flip() > 0) old.push_back(Flip({.probability = message.flip()}));
  if (message.crop() > 0) {
    old.push_back(Crop({.size = message.crop_size(), .probability = message.crop()}));
  }
  std::vector<std::string> texts = ToStrings(old);
  texts.insert(texts.end(), message.transforms().begin(), message.transforms().end());
  return texts;
}

SampleTreatment FromProto(const proto::SampleTreatment& message) {
  return {.shuffle = message.shuffle(),
          .transforms = TransformsOf(message),
          .normalization = {.offset = {message.offset().begin(), message.offset().end()},
                            .scale = {message.scale().begin(), message.scale().end()}}};
}

void ToProto(const RunIdentity& identity, proto::RunSettings* message) {
  const DataFingerprint& print = identity.data;
  proto::DataFingerprint* data = message->mutable_data();
  data->set_dataset(print.dataset);
  data->set_height(print.sample.height);
  data->set_width(print.sample.width);
  data->set_channels(print.sample.channels);
  data->set_outputs(print.outputs);
  data->set_values(print.targets == TargetKind::kValues);
  data->set_pixels(print.targets == TargetKind::kPixels);
  data->set_samples(print.samples);
  data->set_contents(print.contents);
  message->set_learning_rate(identity.learning_rate);
  for (const IdentityMember& member : identity.members) {
    proto::RunChoice* const added = message->add_choices();
    added->set_what(member.file_key());
    added->set_value(member.value);
  }
  message->set_epochs(identity.epochs);
}

// The members, also of a message that has some as numbers.
std::vector<IdentityMember> MembersOf(const proto::RunSettings& message) {
  std::vector<IdentityMember> members;
  for (const proto::RunChoice& choice : message.choices()) {
    members.push_back({.what = choice.what(), .value = choice.value()});
  }
  const auto add = [&](std::string_view key, double value) {
    members.push_back({.what = std::string(key), .value = JsonNumber(value)});
  };
  const std::map<std::string, double> constants(message.optimizer().begin(),
                                                message.optimizer().end());
  for (const auto& [name, value] : constants) add(ConstantOfOptimizer(name), value);
  const bool of_older_version =
      !constants.empty() || message.clip_norm() > 0 || message.label_smoothing() > 0;
  if (!of_older_version) return members;
  add(StrCat("--", "clip-norm"), message.clip_norm());
  add(StrCat("--", "label-smoothing"), message.label_smoothing());
  return members;
}

RunIdentity FromProto(const proto::RunSettings& message) {
  const proto::DataFingerprint& data = message.data();
  return {.data = {.dataset = data.dataset(),
                   .sample = {.height = data.height(),
                              .width = data.width(),
                              .channels = data.channels()},
                   .outputs = data.outputs(),
                   .targets = data.values()   ? TargetKind::kValues
                              : data.pixels() ? TargetKind::kPixels
                                              : TargetKind::kClass,
                   .samples = data.samples(),
                   .contents = data.contents()},
          .learning_rate = message.learning_rate(),
          .epochs = message.epochs(),
          .members = MembersOf(message)};
}

void ToProto(const TrainingState& state, proto::TrainingState* message) {
  message->set_epoch(state.epoch);
  message->set_step_in_epoch(state.step_in_epoch);
  message->set_steps_done(state.steps_done);
  message->set_ended(state.ended);
  message->set_learning_rate(state.learning_rate);
  message->set_random_seed(state.random_seed);
  for (double sum : state.metrics.sums) message->add_metric_sums(sum);
  for (const std::string& name : state.metrics.names) message->add_metric_names(name);
  message->set_metric_samples(state.metrics.samples);
  for (double spent : state.privacy_spent) message->add_privacy_spent(spent);
  for (const auto& [name, values] : state.schedulers) {
    proto::SchedulerState& scheduler = (*message->mutable_schedulers())[name];
    for (double value : values) scheduler.add_values(value);
  }
  for (const auto& [name, file] : state.files) (*message->mutable_files())[name] = file;
  for (const auto& [name, record] : state.kept_epochs) {
    proto::EpochRecord& kept = (*message->mutable_kept_epochs())[name];
    kept.set_epoch(record.epoch);
    for (const auto& [metric, value] : record.metrics) {
      kept.add_metric(metric);
      kept.add_value(value);
    }
  }
  proto::SamplerSettings* sampler = message->mutable_sampler();
  sampler->set_batch(state.sampler.batch);
  sampler->set_ranks(state.sampler.ranks);
  sampler->set_samples(state.sampler.samples);
  sampler->set_steps_per_epoch(state.sampler.steps_per_epoch);
  sampler->set_seed(state.sampler.seed);
  if (state.sampler.treatment) ToProto(*state.sampler.treatment, sampler->mutable_treatment());
  sampler->set_own_data(state.sampler.own_data);
  sampler->set_first(state.sampler.first);
}

TrainingState FromProto(const proto::TrainingState& message) {
  TrainingState state;
  state.epoch = message.epoch();
  state.step_in_epoch = message.step_in_epoch();
  state.steps_done = message.steps_done();
  state.ended = message.ended();
  state.learning_rate = message.learning_rate();
  state.random_seed = message.random_seed();
  state.metrics.sums.assign(message.metric_sums().begin(), message.metric_sums().end());
  state.metrics.names.assign(message.metric_names().begin(), message.metric_names().end());
  state.metrics.samples = message.metric_samples();
  state.privacy_spent.assign(message.privacy_spent().begin(), message.privacy_spent().end());
  for (const auto& [name, scheduler] : message.schedulers()) {
    state.schedulers[name].assign(scheduler.values().begin(), scheduler.values().end());
  }
  for (const auto& [name, file] : message.files()) state.files[name] = file;
  for (const auto& [name, kept] : message.kept_epochs()) {
    EpochRecord& record = state.kept_epochs[name];
    record.epoch = kept.epoch();
    for (int i = 0; i < std::min(kept.metric_size(), kept.value_size()); ++i) {
      record.metrics.emplace_back(kept.metric(i), kept.value(i));
    }
  }
  const proto::SamplerSettings& sampler = message.sampler();
  state.sampler = {.batch = sampler.batch(),
                   .ranks = sampler.ranks(),
                   .samples = sampler.samples(),
                   .steps_per_epoch = sampler.steps_per_epoch(),
                   .seed = sampler.seed(),
                   .own_data = sampler.own_data(),
                   .first = sampler.first()};
  if (sampler.has_treatment()) state.sampler.treatment = FromProto(sampler.treatment());
  return state;
}

// What no run can be in. Epochs times samples fit 63 bits.
bool MakesSense(const CheckpointInfo& info) {
  constexpr int64_t kMostEpochs = 1'000'000'000, kMostSamples = int64_t{1} << 33;
  const TrainingState& t = info.training;
  const int64_t counts[] = {t.epoch,         t.step_in_epoch,   t.steps_done,   t.metrics.samples,
                            t.sampler.batch, t.sampler.samples, t.sampler.first};
  return std::ranges::all_of(counts, [](int64_t count) { return count >= 0; }) &&
         t.epoch <= kMostEpochs && t.sampler.samples <= kMostSamples && t.sampler.ranks > 0 &&
         t.sampler.first <= t.sampler.samples && std::isfinite(t.learning_rate) &&
         (!info.identity ||
          (std::isfinite(info.identity->learning_rate) && info.identity->learning_rate >= 0 &&
           info.identity->epochs >= 0 && info.identity->epochs <= kMostEpochs)) &&
         info.slots >= 0 && info.slots <= kMaxCheckpointSlots && info.ranks_with_slot >= 0 &&
         info.ranks_with_slot <= kMaxCheckpointRanks &&
         (info.ranks_with_slot == 0 || info.slots > 0) &&
         (!info.average_slot || (*info.average_slot >= 0 && *info.average_slot < info.slots));
}

}  // namespace

absl::StatusOr<std::string> EncodeCheckpointInfo(const CheckpointInfo& info) {
  proto::Checkpoint message;
  message.set_version(kVersion);
  message.set_model(info.model);
  message.set_format(info.format);
  message.set_dtype(info.dtype);
  message.set_optimizer(info.optimizer);
  message.set_slots(info.slots);
  if (info.average_slot) message.set_average_slot(*info.average_slot + 1);
  ToProto(info.training, message.mutable_state());
  for (const std::string& owner : info.kept) message.add_kept(owner);
  if (info.identity) ToProto(*info.identity, message.mutable_settings());
  for (int id : info.frozen) message.add_frozen(id);
  message.set_ranks_with_slot(info.ranks_with_slot);
  for (double value : info.exchange) message.add_exchange(value);
  if (info.loss_scale) {
    proto::LossScale* scale = message.mutable_loss_scale();
    scale->set_scale(info.loss_scale->scale);
    scale->set_good_steps(info.loss_scale->good_steps);
    scale->set_skipped_steps(info.loss_scale->skipped_steps);
  }
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);  // the same run gives the same bytes
    if (!message.SerializeToCodedStream(&coded)) {
      return absl::InternalError("cannot write the state of the run");
    }
  }
  return bytes;
}

absl::StatusOr<CheckpointInfo> DecodeCheckpointInfo(std::string_view bytes, std::string_view name) {
  const auto refused = [&](const auto&... what) { return InvalidArgument(name, ": ", what...); };
  proto::Checkpoint message;
  if (bytes.size() > INT_MAX || !message.ParseFromArray(bytes.data(), int(bytes.size()))) {
    return refused("is not the state of a run");
  }
  if (message.version() < 1 || message.version() > kVersion) {
    return refused("has version ", message.version(),
                   " of the format; this program reads versions up to ", kVersion);
  }
  CheckpointInfo info;
  info.model = message.model();
  info.format = message.format();
  info.dtype = message.dtype();
  info.optimizer = message.optimizer();
  info.slots = int(std::clamp<int64_t>(message.slots(), -1, kMaxCheckpointSlots + 1));
  if (message.average_slot() != 0) {
    info.average_slot = int(std::clamp<int64_t>(message.average_slot(), 0, info.slots + 1)) - 1;
  }
  info.training = FromProto(message.state());
  info.kept.assign(message.kept().begin(), message.kept().end());
  if (message.has_settings()) info.identity = FromProto(message.settings());
  info.frozen.assign(message.frozen().begin(), message.frozen().end());
  info.ranks_with_slot =
      int(std::clamp<int64_t>(message.ranks_with_slot(), -1, kMaxCheckpointRanks + 1));
  info.exchange.assign(message.exchange().begin(), message.exchange().end());
  if (message.has_loss_scale()) {
    const proto::LossScale& scale = message.loss_scale();
    info.loss_scale = {.scale = scale.scale(),
                       .good_steps = scale.good_steps(),
                       .skipped_steps = scale.skipped_steps()};
    if (!info.loss_scale->possible()) return refused("contains a loss scale that no run can have");
  }
  if (!MakesSense(info)) return refused("contains counts or a learning rate that no run can have");
  return info;
}

}  // namespace dtnn
