#include "models/callbacks/hand_over.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "comm/broadcast_text.h"
#include "comm/gather_values.h"
#include "comm/model_sync.h"
#include "comm/secrets/crypto/hash.h"
#include "data/loading/epoch_division.h"
#include "kernels/transfers/transfers.h"
#include "kernels/update/loss_scale.h"
#include "models/checkpoint/checkpoint_info.h"
#include "models/parameters/parameter_store.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

absl::StatusOr<Tensor> CopyOfHost(DeviceContext& context, const Tensor& tensor) {
  DTNN_ASSIGN_OR_RETURN(const Tensor host, ToHost(context, tensor));
  DTNN_ASSIGN_OR_RETURN(Tensor copy,
                        Tensor::Allocate(Device::Cpu(), tensor.dtype(), tensor.shape()));
  std::memcpy(copy.raw_data(), host.raw_data(), size_t(host.num_elements()) * SizeOf(host.dtype()));
  return copy;
}

std::span<const uint8_t> Bytes(const Tensor& tensor) {
  return {reinterpret_cast<const uint8_t*>(tensor.raw_data()),
          size_t(tensor.num_elements()) * SizeOf(tensor.dtype())};
}

// One hand-over: all ranks go through the same calls, whatever each holds.
class Exchange {
 public:
  Exchange(Communicator& communicator, const std::optional<KeptRun>& mine, const RunParts& run)
      : communicator_(communicator), mine_(mine), run_(run) {}

  absl::StatusOr<HandedOver> Run() {
    DTNN_RETURN_IF_ERROR(ChooseSource());
    DTNN_ASSIGN_OR_RETURN(const std::string state,
                          BroadcastText(communicator_, EncodeMine(), result_.source));
    DTNN_ASSIGN_OR_RETURN(
        result_.history,
        BroadcastText(communicator_, is_source() ? mine_->history : "", result_.source));
    DTNN_ASSIGN_OR_RETURN(const CheckpointInfo info, DecodeCheckpointInfo(state, "the other rank"));
    DTNN_RETURN_IF_ERROR(CheckSlots(info));
    DTNN_RETURN_IF_ERROR(Share(run_.store->all_values(), is_source() ? &mine_->values : nullptr));
    for (size_t i = 0; i < run_.store->slots().size(); ++i) {
      DTNN_RETURN_IF_ERROR(Share(run_.store->slots()[i], is_source() ? &mine_->slots[i] : nullptr));
    }
    DTNN_RETURN_IF_ERROR(AverageStatistics());
    DTNN_RETURN_IF_ERROR(ShareKept(info.kept));
    result_.loss_scale = info.loss_scale;
    if (info.loss_scale && run_.store->loss_scale() != nullptr) {
      DTNN_RETURN_IF_ERROR(run_.store->loss_scale()->Write(*info.loss_scale));
    }
    run_.store->MarkChanged();
    DTNN_RETURN_IF_ERROR(run_.trainer->CheckState(info.training));
    DTNN_RETURN_IF_ERROR(run_.schedule->Restore(info.training, kept_).status());
    DTNN_RETURN_IF_ERROR(run_.trainer->Restore(info.training));
    DTNN_RETURN_IF_ERROR(CompareDigests(state));
    return std::move(result_);
  }

 private:
  bool is_source() const { return communicator_.rank() == result_.source; }

  // The rank that is ahead; among equals one that has not ended the epoch; among those the lowest.
  absl::Status ChooseSource() {
    std::array<int64_t, 4> place = {0, -1, 0, 0};
    if (mine_) {
      place = {1, mine_->training.steps_done, mine_->training.epoch, mine_->training.step_in_epoch};
    }
    DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> all,
                          GatherValues<int64_t>(communicator_, place));
    const auto steps = [&](int rank) { return all[size_t(rank) * 4 + 1]; };
    const auto epoch = [&](int rank) { return all[size_t(rank) * 4 + 2]; };
    int source = -1;
    for (int rank = 0; rank < communicator_.size(); ++rank) {
      if (all[size_t(rank) * 4] == 0) continue;
      if (source < 0 ||
          std::pair(-steps(rank), epoch(rank)) < std::pair(-steps(source), epoch(source))) {
        source = rank;
      }
    }
    if (source < 0) return absl::InternalError("no rank holds the state of the run");
    result_.source = source;
    for (int rank = 0; rank < communicator_.size(); ++rank) {
      if (all[size_t(rank) * 4] == 0) continue;
      result_.steps_behind = std::max(result_.steps_behind, steps(source) - steps(rank));
    }
    return absl::OkStatus();
  }

  std::string EncodeMine() const {
    if (!is_source()) return "";
    CheckpointInfo info = {.model = run_.graph->name(),
                           .format = std::string(Name(run_.graph->format())),
                           .dtype = std::string(Name(run_.store->dtype())),
                           .optimizer = run_.optimizer,
                           .slots = int(run_.store->slots().size()),
                           .training = mine_->training,
                           .loss_scale = mine_->loss_scale};
    for (const auto& [owner, values] : mine_->kept) info.kept.push_back(owner);
    absl::StatusOr<std::string> bytes = EncodeCheckpointInfo(info);
    return bytes.ok() ? *std::move(bytes) : "";  // which nobody can read
  }

  absl::Status CheckSlots(const CheckpointInfo& info) const {
    if (info.slots == int(run_.store->slots().size()) && info.dtype == Name(run_.store->dtype()) &&
        info.optimizer == run_.optimizer) {
      return absl::OkStatus();
    }
    return FailedPrecondition("rank ", result_.source, " trains in ", info.dtype, " with ",
                              info.optimizer, ", this rank in ", Name(run_.store->dtype()),
                              " with ", run_.optimizer, "; start all ranks with the same flags");
  }

  // Fills a tensor of the device with the source's.
  absl::Status Share(const Tensor& tensor, const Tensor* source) {
    if (tensor.empty()) return absl::OkStatus();
    return ChangeOnHost(*run_.context, tensor, [&](const Tensor& host) {
      if (source != nullptr) {
        std::memcpy(host.raw_data(), source->raw_data(), Bytes(*source).size());
      }
      return communicator_.Broadcast(host, result_.source);
    });
  }

  // Over all ranks that have any: they are of different samples.
  absl::Status AverageStatistics() {
    const Tensor statistics = run_.store->statistics();
    if (statistics.empty()) return absl::OkStatus();
    DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> holders,
                          GatherValues(communicator_, int64_t{mine_ ? 1 : 0}));
    const auto count = std::ranges::count(holders, 1);
    const bool mine = mine_ && !mine_->statistics.empty();
    return ChangeOnHost(*run_.context, statistics, [&](const Tensor& host) {
      if (mine) {
        std::memcpy(host.raw_data(), mine_->statistics.raw_data(), Bytes(mine_->statistics).size());
      }
      Scale(mine ? 1.0 / double(count) : 0.0, host);
      return communicator_.AllReduce(host);
    });
  }

  absl::Status ShareKept(const std::vector<std::string>& owners) {
    for (const std::string& owner : owners) {
      const Tensor& values = run_.store->all_values();
      DTNN_ASSIGN_OR_RETURN(
          Tensor copy, Tensor::Allocate(run_.context->device(), values.dtype(), values.shape()));
      DTNN_RETURN_IF_ERROR(Share(copy, is_source() ? &mine_->kept.find(owner)->second : nullptr));
      kept_.emplace(owner, std::move(copy));
    }
    return absl::OkStatus();
  }

  absl::Status CompareDigests(std::string_view state) {
    Hash digest = {};
    const auto add = [&](std::span<const uint8_t> bytes) -> absl::Status {
      DTNN_ASSIGN_OR_RETURN(digest, Sha256({digest, bytes}));
      return absl::OkStatus();
    };
    DTNN_RETURN_IF_ERROR(add(AsBytes(state)));
    DTNN_RETURN_IF_ERROR(add(AsBytes(result_.history)));
    std::vector<Tensor> tensors = run_.store->slots();
    tensors.push_back(run_.store->all_values());
    for (const auto& [owner, values] : kept_) tensors.push_back(values);
    for (const Tensor& tensor : tensors) {
      DTNN_ASSIGN_OR_RETURN(const Tensor host, ToHost(*run_.context, tensor));
      DTNN_RETURN_IF_ERROR(add(Bytes(host)));
    }
    std::array<int64_t, 4> words;
    static_assert(sizeof(words) == sizeof(digest));
    std::memcpy(words.data(), digest.data(), sizeof(words));
    DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> all,
                          GatherValues<int64_t>(communicator_, words));
    for (int rank = 0; rank < communicator_.size(); ++rank) {
      if (std::equal(words.begin(), words.end(), all.begin() + rank * 4)) continue;
      return absl::InternalError(StrCat("after the state was handed over, rank ", rank,
                                        " holds other bits than rank ", communicator_.rank()));
    }
    return absl::OkStatus();
  }

  Communicator& communicator_;
  const std::optional<KeptRun>& mine_;
  const RunParts& run_;
  HandedOver result_;
  std::map<std::string, Tensor, std::less<>> kept_;
};

}  // namespace

int64_t KeptRun::samples_left() const {
  if (!training.in_epoch()) return 0;
  const SamplerSettings& s = training.sampler;
  const EpochDivision division = {
      .samples = s.samples, .batch = s.batch, .ranks = s.ranks, .first = s.first};
  return s.samples - division.SamplesBefore(training.step_in_epoch);
}

absl::StatusOr<KeptRun> KeepRun(const RunParts& run, const EpochEnds& ends,
                                const std::string& history) {
  KeptRun kept;
  DTNN_ASSIGN_OR_RETURN(kept.training, ends.State());
  for (const auto& [owner, values] : run.schedule->kept()) {
    DTNN_ASSIGN_OR_RETURN(kept.kept[owner], CopyOfHost(*run.context, values));
  }
  DTNN_ASSIGN_OR_RETURN(kept.values, CopyOfHost(*run.context, run.store->all_values()));
  if (const Tensor statistics = run.store->statistics(); !statistics.empty()) {
    DTNN_ASSIGN_OR_RETURN(kept.statistics, CopyOfHost(*run.context, statistics));
  }
  for (const Tensor& slot : run.store->slots()) {
    DTNN_ASSIGN_OR_RETURN(Tensor copy, CopyOfHost(*run.context, slot));
    kept.slots.push_back(std::move(copy));
  }
  if (run.store->loss_scale() != nullptr) {
    DTNN_ASSIGN_OR_RETURN(kept.loss_scale, run.store->loss_scale()->Read());
  }
  kept.history = history;
  return kept;
}

absl::StatusOr<HandedOver> HandOver(Communicator& communicator, const std::optional<KeptRun>& mine,
                                    const RunParts& run) {
  return Exchange(communicator, mine, run).Run();
}

}  // namespace dtnn
