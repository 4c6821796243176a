#include "tensor/files/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>

#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/files/input_file.h"
#include "tensor/files/npy.h"
#include "tensor/text/utf8.h"

namespace dtnn {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they are");

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kMaxHeader = 100'000'000;  // as the format's own library

// Widens `from` (16 bits each) in the second half of a tensor of 32 bits each to fill all of it.
template <typename To, typename F>
void Widen(const Tensor& tensor, F&& convert) {
  To* out = tensor.data<To>();
  const std::byte* from = tensor.raw_data() + tensor.num_elements() * 2;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    uint16_t bits;
    std::memcpy(&bits, from + 2 * i, sizeof(bits));
    out[i] = convert(bits);
  }
}

struct Type {
  std::string_view name;
  DType dtype;  // of the tensor
  bool same;    // bytes in file and tensor
};
constexpr Type kTypes[] = {{"F32", DType::kFloat32, true},  {"F64", DType::kFloat64, true},
                           {"U8", DType::kUint8, true},     {"I32", DType::kInt32, true},
                           {"I64", DType::kInt64, true},    {"I16", DType::kInt32, false},
                           {"F16", DType::kFloat32, false}, {"BF16", DType::kFloat32, false}};

std::string_view TypeName(DType dtype) {
  if (dtype == DType::kFloat16) return "F16";
  if (dtype == DType::kBfloat16) return "BF16";
  return std::ranges::find_if(kTypes, [&](const Type& t) { return t.dtype == dtype; })->name;
}

}  // namespace

absl::StatusOr<SafetensorsReader> SafetensorsReader::Open(std::string_view path) {
  DTNN_ASSIGN_OR_RETURN(InputFile opened, InputFile::Open(path));
  const auto file = std::make_shared<const InputFile>(std::move(opened));
  const auto source = [file](int64_t offset, std::span<std::byte> to) {
    return file->Read(offset, to);
  };
  return Check(SafetensorsReader(path, source), file->size());
}

absl::StatusOr<SafetensorsReader> SafetensorsReader::Parse(std::span<const std::byte> bytes,
                                                           std::string_view name) {
  const auto source = [bytes](int64_t offset, std::span<std::byte> to) {
    if (!to.empty()) std::memcpy(to.data(), bytes.data() + offset, to.size());
    return absl::OkStatus();
  };
  return Check(SafetensorsReader(name, source), int64_t(bytes.size()));
}

absl::StatusOr<SafetensorsReader> SafetensorsReader::Check(SafetensorsReader reader, int64_t size) {
  const auto refused = [&](const auto&... what) {
    return InvalidArgument(reader.file_, ": ", what..., "; is the .safetensors file complete?");
  };
  if (size < kLengthBytes) return refused("has only ", size, " bytes");
  uint64_t length = 0;
  DTNN_RETURN_IF_ERROR(reader.source_(0, std::as_writable_bytes(std::span(&length, 1))));
  if (length > uint64_t(std::min(kMaxHeader, size - kLengthBytes))) {
    return refused("claims a header of ", length, " bytes in a file of ", size, " (at most ",
                   kMaxHeader, " are read)");
  }
  std::string json(length, '\0');
  DTNN_RETURN_IF_ERROR(reader.source_(kLengthBytes, std::as_writable_bytes(std::span(json))));
  reader.data_begin_ = kLengthBytes + int64_t(length);
  DTNN_ASSIGN_OR_RETURN(reader.header_,
                        ParseSafetensorsHeader(json, size - reader.data_begin_, reader.file_));
  for (size_t i = 0; i < reader.header_.entries.size(); ++i) {
    const std::string& name = reader.header_.entries[i].name;
    reader.names_.push_back(name);
    reader.index_.emplace(name, i);
  }
  return reader;
}

int64_t SafetensorsReader::Bytes(std::string_view name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) return 0;
  const SafetensorsEntry& entry = header_.entries[found->second];
  return entry.end - entry.begin;
}

absl::StatusOr<const SafetensorsEntry*> SafetensorsReader::Find(std::string_view name) const {
  const auto found = index_.find(name);
  if (found != index_.end()) return &header_.entries[found->second];
  return NotFound(file_, ": has no tensor ", Quoted(name));
}

absl::StatusOr<Shape> SafetensorsReader::ReadShape(std::string_view name) const {
  DTNN_ASSIGN_OR_RETURN(const SafetensorsEntry* const entry, Find(name));
  absl::StatusOr<Shape> shape = Shape::Make(entry->shape);
  if (shape.ok()) return shape;
  return Unimplemented(file_, "/", Quoted(name), ": ", shape.status().message());
}

absl::StatusOr<Tensor> SafetensorsReader::Read(std::string_view name) const {
  DTNN_ASSIGN_OR_RETURN(const SafetensorsEntry* const found, Find(name));
  const SafetensorsEntry& entry = *found;
  const std::string where = StrCat(file_, "/", Quoted(name));
  const Type* type = std::ranges::find(kTypes, std::string_view(entry.dtype), &Type::name);
  if (type == std::end(kTypes)) {
    return Unimplemented(where, ": dtype ", entry.dtype,
                         " has no tensor here; F64, F32, F16, BF16, U8, "
                         "I16, I32 and I64 have");
  }
  DTNN_ASSIGN_OR_RETURN(const Shape shape, ReadShape(name));
  DTNN_ASSIGN_OR_RETURN(Tensor tensor,
                        WithContext(Tensor::Allocate(Device::Cpu(), type->dtype, shape), where));
  const size_t bytes = size_t(entry.end - entry.begin);
  std::byte* to = tensor.raw_data() + (type->same ? 0 : bytes);
  DTNN_RETURN_IF_ERROR(source_(data_begin_ + entry.begin, {to, bytes}));
  if (entry.dtype == "I16") Widen<int32_t>(tensor, [](uint16_t bits) { return int16_t(bits); });
  if (entry.dtype == "F16") {
    Widen<float>(tensor, [](uint16_t bits) { return float(std::bit_cast<Float16>(bits)); });
  }
  if (entry.dtype == "BF16") {
    Widen<float>(tensor, [](uint16_t bits) { return float(std::bit_cast<Bfloat16>(bits)); });
  }
  return tensor;
}

absl::Status WriteSafetensors(std::string_view path, const NamedTensors& tensors,
                              const NamedTexts& metadata) {
  std::vector<const std::pair<std::string, Tensor>*> order;
  for (const auto& named : tensors) {
    DTNN_RETURN_IF_ERROR(
        WithContext(NpyData(named.second).status(), path, ": tensor ", Quoted(named.first)));
    if (!IsUtf8(named.first)) {
      return InvalidArgument(path, ": the name of tensor ", Quoted(named.first),
                             " is not in UTF-8");
    }
    order.push_back(&named);
  }
  std::ranges::stable_sort(order, std::greater<>(),
                           [](const auto* named) { return SizeOf(named->second.dtype()); });
  for (const auto& [name, text] : metadata) {
    if (!IsUtf8(name) || !IsUtf8(text)) {
      return InvalidArgument(path, ": the text ", Quoted(name), " is not in UTF-8");
    }
  }
  SafetensorsHeader header{.entries = {}, .metadata = metadata};
  int64_t end = 0;
  for (const auto* named : order) {
    const Tensor& tensor = named->second;
    const std::span<const int64_t> extents = tensor.shape().extents();
    const int64_t begin = end;
    end += int64_t(NpyData(tensor)->size());
    header.entries.push_back({.name = named->first,
                              .dtype = std::string(TypeName(tensor.dtype())),
                              .shape = {extents.begin(), extents.end()},
                              .begin = begin,
                              .end = end});
  }
  std::string json = FormatSafetensorsHeader(header);
  json.append((8 - json.size() % 8) % 8, ' ');
  // Finds names that stand twice, and a header that is too long.
  if (int64_t(json.size()) > kMaxHeader) {
    return InvalidArgument(path, ": a header of ", json.size(),
                           " bytes is more than can be read again");
  }
  DTNN_RETURN_IF_ERROR(ParseSafetensorsHeader(json, end, path).status());

  DTNN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  const uint64_t length = json.size();
  DTNN_RETURN_IF_ERROR(file.Append(std::as_bytes(std::span(&length, 1))));
  DTNN_RETURN_IF_ERROR(file.Append(json));
  for (const auto* named : order) DTNN_RETURN_IF_ERROR(file.Append(*NpyData(named->second)));
  return file.Commit();
}

}  // namespace dtnn
