#include "models/torch/torch_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/torch/pickle.h"
#include "models/torch/torch_archive.h"
#include "tensor/errors.h"
#include "tensor/files/array_file.h"
#include "tensor/files/input_file.h"
#include "tensor/float16.h"

namespace dtnn {
namespace {

constexpr uint64_t kMostOfAPickle = uint64_t{1} << 26;
// Elements of 16 bits become those of 32, and tensors may share a storage.
constexpr int64_t kMostGrowth = 8;
constexpr int64_t kMostElements = int64_t{1} << 40;

// The elements of a view of a storage, row by row.
template <typename From, typename Convert>
void CopyView(const PickledTensor& tensor, std::string_view bytes, Convert convert, float* to) {
  const size_t rank = tensor.extents.size();
  std::vector<int64_t> index(rank, 0);
  int64_t from = tensor.offset;
  int64_t count = 1;
  for (const int64_t extent : tensor.extents) count *= extent;
  for (int64_t i = 0; i < count; ++i) {
    From element;
    std::memcpy(&element, bytes.data() + size_t(from) * sizeof(From), sizeof(From));
    to[i] = convert(element);
    for (size_t axis = rank; axis > 0; --axis) {
      from += tensor.strides[axis - 1];
      if (++index[axis - 1] < tensor.extents[axis - 1]) break;
      from -= tensor.strides[axis - 1] * tensor.extents[axis - 1];
      index[axis - 1] = 0;
    }
  }
}

int64_t BytesOf(std::string_view type) {
  if (type == "DoubleStorage") return 8;
  if (type == "FloatStorage") return 4;
  return type == "HalfStorage" || type == "BFloat16Storage" ? 2 : 0;
}

// That the view lies in its storage, and has no more elements than it.
absl::Status CheckView(const PickledTensor& tensor) {
  int64_t count = 1, last = tensor.offset;
  for (size_t i = 0; i < tensor.extents.size(); ++i) {
    const int64_t extent = tensor.extents[i], stride = tensor.strides[i];
    if (extent < 1 || stride < 0 || extent > kMostElements || stride > kMostElements ||
        count > kMostElements / extent) {
      return InvalidArgument("has an axis of ", extent, " elements, ", stride, " apart");
    }
    count *= extent;
    int64_t reach = 0;
    if (__builtin_mul_overflow(extent - 1, stride, &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return InvalidArgument("reaches beyond its storage");
    }
  }
  if (tensor.offset < 0 || last < 0 || tensor.elements > kMostElements || last >= tensor.elements ||
      count > tensor.elements) {
    return InvalidArgument("reaches beyond its storage of ", tensor.elements, " elements");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadStorage(const PickledTensor& tensor, const TorchArchive& archive,
                                        const std::string& folder) {
  const auto size = uint64_t(tensor.elements * BytesOf(tensor.type));
  DTNN_ASSIGN_OR_RETURN(std::string bytes,
                        archive.Read(StrCat(folder, "data/", tensor.storage), size));
  if (bytes.size() != size) {
    return InvalidArgument("has a storage of ", bytes.size(), " bytes; expected ", size);
  }
  return bytes;
}

absl::StatusOr<Tensor> ToTensor(const PickledTensor& tensor, std::string_view bytes) {
  DTNN_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(tensor.extents));
  DTNN_ASSIGN_OR_RETURN(Tensor read, Tensor::Allocate(Device::Cpu(), DType::kFloat32, shape));
  float* const to = read.data<float>();
  if (tensor.type == "FloatStorage") {
    CopyView<float>(
        tensor, bytes, [](float from) { return from; }, to);
  } else if (tensor.type == "DoubleStorage") {
    CopyView<double>(
        tensor, bytes, [](double from) { return float(from); }, to);
  } else if (tensor.type == "HalfStorage") {
    CopyView<Float16>(
        tensor, bytes, [](Float16 from) { return float(from); }, to);
  } else {
    CopyView<Bfloat16>(
        tensor, bytes, [](Bfloat16 from) { return float(from); }, to);
  }
  return read;
}

absl::StatusOr<NamedTensors> ReadArchive(const TorchArchive& archive) {
  DTNN_ASSIGN_OR_RETURN(const std::string folder, archive.Folder());
  if (const std::string order = folder + "byteorder"; archive.Contains(order)) {
    DTNN_ASSIGN_OR_RETURN(const std::string word, archive.Read(order, 16));
    if (word != "little") return Unimplemented("has numbers in the byte order ", Quoted(word));
  }
  DTNN_ASSIGN_OR_RETURN(const std::string pickle,
                        archive.Read(StrCat(folder, TorchArchive::kPickle), kMostOfAPickle));
  DTNN_ASSIGN_OR_RETURN(const std::vector<PickledTensor> pickled, ReadPickle(pickle));
  NamedTensors tensors;
  int64_t room = kMostGrowth * archive.size();
  for (const PickledTensor& tensor : pickled) {
    if (BytesOf(tensor.type) == 0 || std::ranges::find(tensor.extents, 0) != tensor.extents.end()) {
      continue;
    }
    DTNN_RETURN_IF_ERROR(WithContext(CheckView(tensor), "tensor ", Quoted(tensor.name)));
    DTNN_ASSIGN_OR_RETURN(const std::string bytes, WithContext(ReadStorage(tensor, archive, folder),
                                                               "tensor ", Quoted(tensor.name)));
    room -= tensor.elements * int64_t(sizeof(float));
    if (room < 0) {
      return InvalidArgument("its tensors share storages: together they have more than ",
                             kMostGrowth, " times the bytes of the file");
    }
    DTNN_ASSIGN_OR_RETURN(Tensor read,
                          WithContext(ToTensor(tensor, bytes), "tensor ", Quoted(tensor.name)));
    tensors.emplace_back(tensor.name, std::move(read));
  }
  return tensors;
}

absl::StatusOr<NamedTensors> ReadSafetensors(std::string_view path) {
  DTNN_ASSIGN_OR_RETURN(ArrayFileReader file, ArrayFileReader::Open(path));
  NamedTensors tensors;
  for (const std::string& name : file.names()) {
    DTNN_ASSIGN_OR_RETURN(const Tensor from, file.Read(name));
    if (!IsFloating(from.dtype()) || from.num_elements() == 0) continue;
    DTNN_ASSIGN_OR_RETURN(Tensor to,
                          Tensor::Allocate(Device::Cpu(), DType::kFloat32, from.shape()));
    for (int64_t i = 0; i < from.num_elements(); ++i) {
      to.data<float>()[i] =
          from.dtype() == DType::kFloat32 ? from.data<float>()[i] : float(from.data<double>()[i]);
    }
    tensors.emplace_back(name, std::move(to));
  }
  return tensors;
}

// DataParallel puts a name before all others.
void DropModule(NamedTensors& tensors) {
  constexpr std::string_view kModule = "module.";
  const bool all = std::ranges::all_of(
      tensors, [&](const auto& tensor) { return tensor.first.starts_with(kModule); });
  if (!all) return;
  for (auto& [name, tensor] : tensors) name.erase(0, kModule.size());
}

}  // namespace

bool IsTorchFileName(std::string_view path) {
  return path.ends_with(".pth") || path.ends_with(".pt") || path.ends_with(".bin");
}

absl::StatusOr<NamedTensors> ReadTorchFile(std::string_view path) {
  NamedTensors tensors;
  if (IsTorchFileName(path)) {
    DTNN_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
    DTNN_ASSIGN_OR_RETURN(const TorchArchive archive, WithContext(TorchArchive::Open(file), path));
    DTNN_ASSIGN_OR_RETURN(tensors, WithContext(ReadArchive(archive), path));
  } else {
    DTNN_ASSIGN_OR_RETURN(tensors, ReadSafetensors(path));
  }
  DropModule(tensors);
  return tensors;
}

absl::StatusOr<NamedTensors> ParseTorchFile(std::span<const std::byte> bytes,
                                            std::string_view name) {
  DTNN_ASSIGN_OR_RETURN(const TorchArchive archive, WithContext(TorchArchive::Parse(bytes), name));
  DTNN_ASSIGN_OR_RETURN(NamedTensors tensors, WithContext(ReadArchive(archive), name));
  DropModule(tensors);
  return tensors;
}

}  // namespace dtnn
