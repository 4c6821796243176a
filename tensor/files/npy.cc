#include "tensor/files/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <memory>

#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"

namespace dtnn {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they are");

// Distance in the file, in elements, between neighbours along each axis.
std::array<int64_t, Shape::kMaxRank> FileStrides(const NpyHeader& header) {
  std::array<int64_t, Shape::kMaxRank> strides = {};
  const int rank = header.shape.rank();
  int64_t stride = 1;
  for (int i = 0; i < rank; ++i) {
    const int axis = header.fortran_order ? i : rank - 1 - i;
    strides[axis] = stride;
    stride *= header.shape[axis];
  }
  return strides;
}

template <typename T>
T Load(const std::byte* from, bool swap) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  if (!swap) return value;
  if constexpr (sizeof(T) == 2) return T(__builtin_bswap16(uint16_t(value)));
  if constexpr (sizeof(T) == 4) return T(__builtin_bswap32(uint32_t(value)));
  if constexpr (sizeof(T) == 8) return T(__builtin_bswap64(uint64_t(value)));
  return value;
}

// Copies the elements (of type From in the file) in row-major order of the shape.
template <typename From, typename To, typename Convert>
void Rearrange(const NpyHeader& header, const std::byte* file, To* out, Convert convert) {
  const int rank = header.shape.rank();
  const int64_t count = header.shape.NumElements();
  const std::array<int64_t, Shape::kMaxRank> strides = FileStrides(header);
  std::array<int64_t, Shape::kMaxRank> index = {};
  int64_t at = 0;
  for (int64_t i = 0; i < count; ++i) {
    out[i] = convert(Load<From>(file + at * int64_t(sizeof(From)), header.big_endian));
    for (int axis = rank - 1; axis >= 0; --axis) {
      at += strides[axis];
      if (++index[axis] < header.shape[axis]) break;
      at -= index[axis] * strides[axis];
      index[axis] = 0;
    }
  }
}

// The bits of T as they are, or converted to To.
template <typename Bits, typename T, typename To>
void Widen(const NpyHeader& header, const std::byte* file, const Tensor& tensor) {
  Rearrange<Bits>(header, file, tensor.data<To>(),
                  [](Bits bits) { return To(std::bit_cast<T>(bits)); });
}

void Convert(const NpyHeader& header, const std::byte* file, const Tensor& tensor) {
  std::byte* out = tensor.raw_data();
  const auto same = [](auto value) { return value; };
  const bool is_signed = header.kind == 'i';
  switch (header.item_size) {
    case 1:
      if (header.kind == 'b') {
        return Rearrange<uint8_t>(header, file, tensor.data<int32_t>(),
                                  [](uint8_t value) { return int32_t(value != 0); });
      }
      if (is_signed) return Widen<uint8_t, int8_t, int32_t>(header, file, tensor);
      return Rearrange<uint8_t>(header, file, reinterpret_cast<uint8_t*>(out), same);
    case 2:
      if (header.kind == 'f') return Widen<uint16_t, Float16, float>(header, file, tensor);
      if (is_signed) return Widen<uint16_t, int16_t, int32_t>(header, file, tensor);
      return Widen<uint16_t, uint16_t, int32_t>(header, file, tensor);
    case 4:  // bits, whether of a float or an integer
      if (header.kind == 'u') return Widen<uint32_t, uint32_t, int64_t>(header, file, tensor);
      return Rearrange<uint32_t>(header, file, reinterpret_cast<uint32_t*>(out), same);
    default:
      return Rearrange<uint64_t>(header, file, reinterpret_cast<uint64_t*>(out), same);
  }
}

// An int64 that is negative here was a uint64 from 2^63 on in the file.
absl::Status CheckUnsigned(const NpyHeader& header, const Tensor& tensor) {
  if (header.kind != 'u' || header.item_size != 8) return absl::OkStatus();
  const std::span values(tensor.data<int64_t>(), size_t(tensor.num_elements()));
  const auto bad = std::ranges::find_if(values, [](int64_t value) { return value < 0; });
  if (bad == values.end()) return absl::OkStatus();
  return InvalidArgument("element ", bad - values.begin(), " is ", uint64_t(*bad),
                         "; unsigned integers are read up to 2^63 - 1");
}

// True where the file holds the tensor's bytes as they are.
bool SameBytes(const NpyHeader& header) {
  return header.item_size == SizeOf(header.dtype) && !header.big_endian &&
         (!header.fortran_order || header.shape.rank() < 2);
}

absl::StatusOr<Tensor> ReadElements(const NpyHeader& header, NpySource read) {
  DTNN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(Device::Cpu(), header.dtype, header.shape));
  const size_t bytes = size_t(header.data_bytes());
  if (SameBytes(header)) {
    DTNN_RETURN_IF_ERROR(read({tensor.raw_data(), bytes}));
    return tensor;
  }
  DTNN_ASSIGN_OR_RETURN(const std::shared_ptr<Buffer> file, Buffer::Allocate(Device::Cpu(), bytes));
  DTNN_RETURN_IF_ERROR(read({file->data(), bytes}));
  Convert(header, file->data(), tensor);
  return tensor;
}

}  // namespace

absl::StatusOr<Tensor> ParseNpyFrom(NpySource read, int64_t size, std::string_view name) {
  DTNN_ASSIGN_OR_RETURN(const NpyHeader header, ReadNpyHeader(read, size, name));
  absl::StatusOr<Tensor> tensor = ReadElements(header, read);
  if (absl::IsResourceExhausted(tensor.status())) {
    return ResourceExhausted(name, ": ", tensor.status().message());
  }
  if (tensor.ok()) DTNN_RETURN_IF_ERROR(WithContext(CheckUnsigned(header, *tensor), name));
  return tensor;
}

absl::StatusOr<Tensor> ParseNpy(std::span<const std::byte> bytes, std::string_view name) {
  size_t position = 0;
  const auto read = [&](std::span<std::byte> to) {
    if (!to.empty()) std::memcpy(to.data(), bytes.data() + position, to.size());
    position += to.size();
    return absl::OkStatus();
  };
  return ParseNpyFrom(read, int64_t(bytes.size()), name);
}

absl::StatusOr<Tensor> ReadNpy(std::string_view path, int64_t max_bytes) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ReadFile(path, max_bytes));
  return ParseNpy(bytes, path);
}

absl::StatusOr<std::span<const std::byte>> NpyData(const Tensor& tensor) {
  if (tensor.empty() || !tensor.dense() || !tensor.buffer()->host_accessible()) {
    return absl::InvalidArgumentError(
        "only a dense tensor in host memory can be written; copy it into one first");
  }
  return std::span<const std::byte>(tensor.raw_data(),
                                    size_t(tensor.num_elements()) * SizeOf(tensor.dtype()));
}

absl::StatusOr<std::vector<std::byte>> SerializeNpy(const Tensor& tensor) {
  DTNN_ASSIGN_OR_RETURN(const std::span<const std::byte> data, NpyData(tensor));
  const std::string header = NpyHeaderBytes(tensor.dtype(), tensor.shape());
  const std::span<const std::byte> header_bytes = std::as_bytes(std::span(header));
  std::vector<std::byte> bytes;
  bytes.reserve(header.size() + data.size());
  bytes.insert(bytes.end(), header_bytes.begin(), header_bytes.end());
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

std::string SerializeNpyInt16(std::span<const int16_t> values, const Shape& shape) {
  assert(int64_t(values.size()) == shape.NumElements());
  std::string bytes = NpyHeaderBytes("<i2", shape);
  for (const int16_t value : values) {
    bytes.push_back(char(value & 0xff));
    bytes.push_back(char(value >> 8));
  }
  return bytes;
}

absl::Status WriteNpy(std::string_view path, const Tensor& tensor) {
  DTNN_ASSIGN_OR_RETURN(const std::span<const std::byte> data, WithContext(NpyData(tensor), path));
  DTNN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  DTNN_RETURN_IF_ERROR(file.Append(NpyHeaderBytes(tensor.dtype(), tensor.shape())));
  DTNN_RETURN_IF_ERROR(file.Append(data));
  return file.Commit();
}

}  // namespace dtnn
