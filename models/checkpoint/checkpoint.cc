#include "models/checkpoint/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "kernels/transfers/transfers.h"
#include "models/parameters/parameter_arrays.h"
#include "tensor/dtype.h"
#include "tensor/errors.h"
#include "tensor/files/npy_header.h"
#include "tensor/format.h"
#include "tensor/named_argument.h"

namespace dtnn {
namespace {

constexpr std::string_view kStateKey = "__state__";
// What a reader allocates at most: the sums of a confusion matrix over 2800 classes.
constexpr size_t kMaxStateBytes = size_t{1} << 26;
// In a file, with the header that an .npz gives it.
constexpr size_t kMaxStateMember = kMaxStateBytes + NpyPreamble::kMaxSize + NpyPreamble::kMaxHeader;

ArenaKeys SlotKeys(size_t slot) {
  return {.prefix = StrCat("__slot", slot, "__"), .trainable_only = true};
}

ArenaKeys RankKeys(size_t rank) {
  return {.prefix = StrCat("__rank", rank, "__"), .trainable_only = true};
}

ArenaKeys KeptKeys(std::string_view owner) { return {.prefix = StrCat("__kept__", owner, "__")}; }

absl::Status Differs(const std::string& file, std::string_view what, std::string_view theirs,
                     std::string_view ours) {
  return FailedPrecondition(file, ": is a checkpoint of a run with ", what, " ", Quoted(theirs),
                            "; this one has ", Quoted(ours));
}

std::vector<int> FrozenIds(const Graph& graph) {
  std::vector<int> ids;
  for (const Node& node : graph.nodes()) {
    if (node.frozen) ids.push_back(node.id);
  }
  return ids;
}

// The optimizer's state is that of the layers that trained.
absl::Status CheckSameFrozen(const std::string& file, const CheckpointInfo& info,
                             const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    const bool was = std::ranges::count(info.frozen, node.id) > 0;
    if (was == node.frozen) continue;
    return NamingArgument(
        FailedPrecondition(
            file, ": is a checkpoint of a run in which layer ", node.name,
            was ? " was frozen; in this one it trains" : " trained; in this one it is frozen",
            ". Freeze the same layers to resume it, or load only its parameters (LoadWeights) to "
            "start a new run"),
        "LoadWeights");
  }
  return absl::OkStatus();
}

// An intact checkpoint must also be one of this run.
absl::Status CheckSameRun(const std::string& file, const CheckpointInfo& info, const Graph& graph,
                          const ParameterStore& store, std::string_view optimizer) {
  if (info.model != graph.name()) return Differs(file, "model", info.model, graph.name());
  if (info.dtype != Name(store.dtype())) {
    return Differs(file, "dtype", info.dtype, Name(store.dtype()));
  }
  if (info.optimizer != optimizer) return Differs(file, "optimizer", info.optimizer, optimizer);
  if (info.average_slot.has_value() != store.average_slot().has_value()) {
    return NamingArgument(
        FailedPrecondition(
            file, ": is a checkpoint of a run ", info.average_slot ? "with" : "without",
            " an average of its parameters; this one has ", store.average_slot() ? "one" : "none",
            ". Resume it as it was, or load its parameters (LoadWeights) to start a new run"),
        "LoadWeights");
  }
  if (info.slots != int(store.slots().size()) || info.average_slot != store.average_slot()) {
    return Differs(file, "slots per parameter", StrCat(info.slots), StrCat(store.slots().size()));
  }
  return CheckSameFrozen(file, info, graph);
}

// The last slot of a rank, where each has its own; `first` is that of rank 0.
absl::StatusOr<Tensor> OwnSlot(ArrayFileReader& file, const Graph& graph,
                               const ParameterStore& store, WeightsLayout layout, int written,
                               const ReadingRank& reader, Tensor first) {
  Tensor sum = std::move(first);
  const int64_t elements = sum.num_elements();
  if (reader.rank > 0) {
    DTNN_ASSIGN_OR_RETURN(sum, Tensor::Zeros(store.dtype(), sum.shape()));
  }
  for (int rank = reader.rank; rank < written; rank += reader.ranks) {
    if (rank == 0) continue;
    DTNN_ASSIGN_OR_RETURN(const Tensor next,
                          ReadArena(file, graph, store, layout, RankKeys(size_t(rank))));
    DispatchFloating(store.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for (int64_t i = 0; i < elements; ++i) sum.data<T>()[i] += next.data<T>()[i];
    });
  }
  return sum;
}

absl::StatusOr<Tensor> BytesTensor(std::string_view bytes) {
  DTNN_ASSIGN_OR_RETURN(
      Tensor tensor, Tensor::Allocate(Device::Cpu(), DType::kUint8, Shape{int64_t(bytes.size())}));
  std::memcpy(tensor.raw_data(), bytes.data(), bytes.size());
  return tensor;
}

}  // namespace

absl::Status SaveCheckpoint(std::string_view path, const Graph& graph, const ParameterStore& store,
                            DeviceContext& context, const RunState& run) {
  if (!path.ends_with(".npz")) {
    return InvalidArgument(path, ": the name of a checkpoint must end in .npz");
  }
  CheckpointInfo info = {.model = graph.name(),
                         .format = std::string(Name(graph.format())),
                         .dtype = std::string(Name(store.dtype())),
                         .optimizer = run.optimizer,
                         .slots = int(store.slots().size()),
                         .average_slot = store.average_slot(),
                         .training = run.training,
                         .identity = run.identity,
                         .frozen = FrozenIds(graph)};
  if (store.loss_scale() != nullptr) {
    DTNN_ASSIGN_OR_RETURN(info.loss_scale, store.loss_scale()->Read());
  }
  NamedTensors tensors;
  const auto add = [&](const Tensor& arena, const ArenaKeys& keys) -> absl::Status {
    DTNN_ASSIGN_OR_RETURN(NamedTensors more, NameArena(graph, store, context, arena, keys));
    for (auto& named : more) tensors.push_back(std::move(named));
    return absl::OkStatus();
  };
  DTNN_RETURN_IF_ERROR(add(store.all_values(), {}));
  for (size_t i = 0; i < store.slots().size(); ++i) {
    DTNN_RETURN_IF_ERROR(add(store.slots()[i], SlotKeys(i)));
  }
  if (run.exchange) {
    const std::vector<Tensor>& leftovers = run.exchange->leftovers;
    info.ranks_with_slot = int(leftovers.size()) + 1;
    info.exchange = run.exchange->values;
    for (size_t i = 0; i < leftovers.size(); ++i) {
      DTNN_RETURN_IF_ERROR(add(leftovers[i], RankKeys(i + 1)));
    }
  }
  for (const auto& [owner, arena] : run.kept) {
    info.kept.push_back(owner);
    DTNN_RETURN_IF_ERROR(add(arena, KeptKeys(owner)));
  }
  DTNN_ASSIGN_OR_RETURN(const std::string bytes, EncodeCheckpointInfo(info));
  if (bytes.size() > kMaxStateBytes) {
    return FailedPrecondition(
        path, ": the state of the run takes ", bytes.size(), " bytes; a file can contain at most ",
        kMaxStateBytes,
        ". In the middle of an epoch the sums of the metrics take most of it: save "
        "at the end of epochs only, or leave out multiclass_confusion_matrix");
  }
  DTNN_ASSIGN_OR_RETURN(Tensor state, BytesTensor(bytes));
  tensors.emplace_back(std::string(kStateKey), std::move(state));
  return WriteArrayFile(path, tensors, WeightTags(graph, store, run.tags));
}

bool IsCheckpoint(const ArrayFileReader& file) { return file.Contains(kStateKey); }

absl::StatusOr<CheckpointInfo> ReadCheckpointInfo(ArrayFileReader& file) {
  if (!IsCheckpoint(file)) {
    return NamingArgument(InvalidArgument(file.file(), ": has no ", kStateKey,
                                          ", so it is not a checkpoint; if it contains plain "
                                          "weights, load them (LoadWeights) to start a new run"),
                          "LoadWeights");
  }
  const std::string name = StrCat(file.file(), "/", kStateKey);
  if (file.Bytes(kStateKey) > int64_t(kMaxStateMember)) {
    return InvalidArgument(name, ": has ", file.Bytes(kStateKey),
                           " bytes, more than the state of a run can have");
  }
  DTNN_ASSIGN_OR_RETURN(const Tensor state, file.Read(kStateKey));
  if (state.dtype() != DType::kUint8) {
    return InvalidArgument(name, ": has ", Name(state.dtype()),
                           " elements; the state of a checkpoint has uint8");
  }
  const std::string_view bytes(reinterpret_cast<const char*>(state.raw_data()),
                               size_t(state.num_elements()));
  return DecodeCheckpointInfo(bytes, name);
}

absl::StatusOr<StagedCheckpoint> StagedCheckpoint::Open(std::string_view path, const Graph& graph,
                                                        const ParameterStore& store,
                                                        DeviceContext& context,
                                                        std::string_view optimizer,
                                                        const ReadingRank& reader) {
  DTNN_ASSIGN_OR_RETURN(ArrayFileReader file, ArrayFileReader::Open(path));
  return Read(file, graph, store, context, optimizer, reader);
}

absl::StatusOr<StagedCheckpoint> StagedCheckpoint::Read(ArrayFileReader& file, const Graph& graph,
                                                        const ParameterStore& store,
                                                        DeviceContext& context,
                                                        std::string_view optimizer,
                                                        const ReadingRank& reader) {
  DTNN_ASSIGN_OR_RETURN(CheckpointInfo info, ReadCheckpointInfo(file));
  DTNN_RETURN_IF_ERROR(CheckSameRun(file.file(), info, graph, store, optimizer));
  DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> format, file.Text("__format__"));
  if (!format.has_value() || *format != info.format) {
    return InvalidArgument(file.file(), ": its tag __format__ does not match its state (",
                           Quoted(info.format), "); the file is damaged");
  }
  StagedCheckpoint staged;
  DTNN_ASSIGN_OR_RETURN(staged.weights_, StagedWeights::Read(file, graph, store, context, {}));
  const WeightsLayout layout = staged.weights_.loaded().layout;
  for (size_t i = 0; i < store.slots().size(); ++i) {
    DTNN_ASSIGN_OR_RETURN(Tensor slot, ReadArena(file, graph, store, layout, SlotKeys(i)));
    staged.slots_.push_back(std::move(slot));
  }
  if (info.ranks_with_slot > 0) {
    DTNN_ASSIGN_OR_RETURN(staged.slots_.back(),
                          OwnSlot(file, graph, store, layout, info.ranks_with_slot, reader,
                                  std::move(staged.slots_.back())));
    staged.run_.exchange = {.values = std::move(info.exchange)};
  }
  for (const std::string& owner : std::set<std::string>(info.kept.begin(), info.kept.end())) {
    DTNN_ASSIGN_OR_RETURN(const Tensor arena,
                          ReadArena(file, graph, store, layout, KeptKeys(owner)));
    DTNN_ASSIGN_OR_RETURN(staged.run_.kept[owner], ToDevice(context, arena));
  }
  staged.loss_scale_ = info.loss_scale;
  staged.run_.optimizer = std::move(info.optimizer);
  staged.run_.training = std::move(info.training);
  staged.run_.identity = std::move(info.identity);
  return staged;
}

absl::Status StagedCheckpoint::Apply(ParameterStore& store, DeviceContext& context) const {
  DTNN_RETURN_IF_ERROR(weights_.Apply(store, context));
  if (loss_scale_ && store.loss_scale() != nullptr) {
    DTNN_RETURN_IF_ERROR(store.loss_scale()->Write(*loss_scale_));
  }
  for (size_t i = 0; i < slots_.size(); ++i) {
    DTNN_RETURN_IF_ERROR(context.Copy(slots_[i], store.slots()[i]));
  }
  return context.Synchronize();
}

}  // namespace dtnn
