#include "tensor/files/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>

#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/files/bytes/known_contents.h"
#include "tensor/files/input_file.h"
#include "tensor/files/npy.h"
#include "tensor/text/utf8.h"

namespace dtnn {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they are");

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kMaxHeader = 100'000'000;  // as the format's own library

// Widens elements of `From` at the end of a tensor's memory to fill all of it.
template <typename From, typename To, To (*convert)(From)>
void Widen(const Tensor& tensor) {
  To* out = tensor.data<To>();
  const int64_t count = tensor.num_elements();
  const std::byte* from = tensor.raw_data() + count * int64_t(sizeof(To) - sizeof(From));
  for (int64_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, from + i * int64_t(sizeof(From)), sizeof(value));
    out[i] = convert(value);
  }
}

template <typename From, typename To>
To As(From value) {
  return To(value);
}
int32_t FromBool(uint8_t value) { return value != 0; }

struct Type {
  std::string_view name;
  DType dtype;    // of the tensor
  int64_t bytes;  // of an element in the file
  void (*widen)(const Tensor& tensor) = nullptr;
};
constexpr Type kTypes[] = {{"F32", DType::kFloat32, 4},
                           {"F64", DType::kFloat64, 8},
                           {"U8", DType::kUint8, 1},
                           {"I32", DType::kInt32, 4},
                           {"I64", DType::kInt64, 8},
                           {"U64", DType::kInt64, 8},
                           {"BOOL", DType::kInt32, 1, Widen<uint8_t, int32_t, FromBool>},
                           {"I8", DType::kInt32, 1, Widen<int8_t, int32_t, As>},
                           {"I16", DType::kInt32, 2, Widen<int16_t, int32_t, As>},
                           {"U16", DType::kInt32, 2, Widen<uint16_t, int32_t, As>},
                           {"U32", DType::kInt64, 4, Widen<uint32_t, int64_t, As>},
                           {"F16", DType::kFloat32, 2, Widen<Float16, float, As>},
                           {"BF16", DType::kFloat32, 2, Widen<Bfloat16, float, As>}};

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
  std::array<std::byte, kKnownContentsBytes> begin;
  const std::span start = std::span(begin).first(size_t(std::min<int64_t>(size, begin.size())));
  DTNN_RETURN_IF_ERROR(reader.source_(0, start));
  const std::string_view contents = KnownContents(start);
  const auto refused = [&](const auto&... what) {
    if (!contents.empty() && !contents.starts_with("a .safetensors")) {
      return InvalidArgument(reader.file_, ": is ", contents, "; expected a .safetensors file");
    }
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
    return Unimplemented(where, ": dtype ", Quoted(entry.dtype),
                         " has no tensor here; F64, F32, F16, BF16, BOOL, and integers of 8 to 64 "
                         "bits have");
  }
  DTNN_ASSIGN_OR_RETURN(const Shape shape, ReadShape(name));
  DTNN_ASSIGN_OR_RETURN(Tensor tensor,
                        WithContext(Tensor::Allocate(Device::Cpu(), type->dtype, shape), where));
  const size_t bytes = size_t(entry.end - entry.begin);
  const size_t room = size_t(tensor.num_elements()) * SizeOf(tensor.dtype());
  DTNN_RETURN_IF_ERROR(
      source_(data_begin_ + entry.begin, {tensor.raw_data() + (room - bytes), bytes}));
  if (type->widen != nullptr) type->widen(tensor);
  if (entry.dtype == "U64") {
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      if (tensor.data<int64_t>()[i] >= 0) continue;
      return InvalidArgument(where, ": element ", i, " is ", uint64_t(tensor.data<int64_t>()[i]),
                             "; unsigned integers are read up to 2^63 - 1");
    }
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
