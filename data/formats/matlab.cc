#include "data/formats/matlab.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "absl/status/status.h"
#include "tensor/errors.h"
#include "tensor/rounding.h"

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are stored");

namespace dtnn {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr size_t kHeaderSize = 128;
constexpr size_t kMaxUnpacked = size_t{1} << 24;
constexpr int64_t kMaxRows = int64_t{1} << 17;

enum Type : uint32_t {
  kInt8 = 1,
  kUint8 = 2,
  kInt16 = 3,
  kUint16 = 4,
  kInt32 = 5,
  kUint32 = 6,
  kSingle = 7,
  kDouble = 9,
  kInt64 = 12,
  kUint64 = 13,
  kMatrix = 14,
  kCompressed = 15,
  kUtf8 = 16,
};

// Classes of arrays.
constexpr uint8_t kStruct = 2, kChar = 4, kFirstNumeric = 6, kLastNumeric = 15;

absl::Status Damaged(std::string_view what) {
  return DataLoss(what, "; the file is damaged or truncated");
}

template <typename T>
T Get(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

struct Element {
  uint32_t type = 0;
  Bytes data;
};

// Takes the next element off `bytes`.
absl::StatusOr<Element> Next(Bytes& bytes) {
  if (bytes.size() < 8) return Damaged("an element has no room for its tag");
  const uint32_t word = Get<uint32_t>(bytes.data());
  if (const uint32_t small = word >> 16; small != 0) {  // tag and data in 8 bytes
    if (small > 4) return Damaged("a small element is too large");
    const Element element = {word & 0xffff, bytes.subspan(4, small)};
    bytes = bytes.subspan(8);
    return element;
  }
  const size_t size = Get<uint32_t>(bytes.data() + 4);
  if (size > bytes.size() - 8) return Damaged("an element is longer than what is left");
  const Element element = {word, bytes.subspan(8, size)};
  const size_t padded = word == kCompressed ? size : RoundUp(size, 8);
  bytes = bytes.subspan(8 + std::min(padded, bytes.size() - 8));
  return element;
}

absl::StatusOr<Element> Next(Bytes& bytes, uint32_t type, std::string_view what) {
  DTNN_ASSIGN_OR_RETURN(const Element element, Next(bytes));
  if (element.type == type) return element;
  return Damaged(StrCat(what, " has type ", element.type, ", expected ", type));
}

absl::StatusOr<std::vector<uint8_t>> Inflate(Bytes packed) {
  z_stream stream = {};
  if (inflateInit(&stream) != Z_OK)
    return absl::ResourceExhaustedError("not enough memory to unpack it");
  stream.next_in = const_cast<uint8_t*>(packed.data());
  stream.avail_in = uInt(packed.size());
  std::vector<uint8_t> bytes;
  int result = Z_OK;
  while (result == Z_OK && bytes.size() < kMaxUnpacked) {
    const size_t done = bytes.size(), step = std::max<size_t>(4096, done);
    bytes.resize(std::min(done + step, kMaxUnpacked));
    stream.next_out = bytes.data() + done;
    stream.avail_out = uInt(bytes.size() - done);
    result = inflate(&stream, Z_NO_FLUSH);
    bytes.resize(bytes.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (result == Z_STREAM_END) return bytes;
  if (bytes.size() == kMaxUnpacked) {
    return ResourceExhausted("an element unpacks to more than ", kMaxUnpacked, " bytes");
  }
  return Damaged("a compressed element cannot be unpacked");
}

// What every array begins with.
struct Array {
  uint8_t kind = 0;
  int64_t elements = 0;
  std::string_view name;
  Bytes rest;  // behind the name
};

absl::StatusOr<Array> OpenArray(Bytes bytes) {
  Array array;
  DTNN_ASSIGN_OR_RETURN(const Element flags, Next(bytes, kUint32, "the flags of an array"));
  if (flags.data.size() != 8) return Damaged("the flags of an array are not 8 bytes");
  array.kind = flags.data[0];
  DTNN_ASSIGN_OR_RETURN(const Element extents, Next(bytes, kInt32, "the extents of an array"));
  if (extents.data.size() < 8 || extents.data.size() % 4 != 0) {
    return Damaged("an array has fewer than two extents");
  }
  array.elements = 1;
  for (size_t at = 0; at < extents.data.size(); at += 4) {
    const int64_t extent = Get<int32_t>(extents.data.data() + at);
    if (extent < 0 || __builtin_mul_overflow(array.elements, extent, &array.elements)) {
      return Damaged("the extents of an array are not possible");
    }
  }
  DTNN_ASSIGN_OR_RETURN(const Element name, Next(bytes, kInt8, "the name of an array"));
  array.name = {reinterpret_cast<const char*>(name.data.data()), name.data.size()};
  array.rest = bytes;
  return array;
}

template <typename T>
bool As(Bytes data, double& value) {
  if (data.size() != sizeof(T)) return false;
  value = double(Get<T>(data.data()));
  return true;
}

// Whether the element is one number, which goes to `value`.
bool Number(const Element& element, double& value) {
  switch (element.type) {
    case kInt8:
      return As<int8_t>(element.data, value);
    case kUint8:
      return As<uint8_t>(element.data, value);
    case kInt16:
      return As<int16_t>(element.data, value);
    case kUint16:
      return As<uint16_t>(element.data, value);
    case kInt32:
      return As<int32_t>(element.data, value);
    case kUint32:
      return As<uint32_t>(element.data, value);
    case kSingle:
      return As<float>(element.data, value);
    case kDouble:
      return As<double>(element.data, value);
    case kInt64:
      return As<int64_t>(element.data, value);
    case kUint64:
      return As<uint64_t>(element.data, value);
    default:
      return false;
  }
}

// UTF-16 units below 128 are all that names of synsets use; others become '?'.
std::string Text(const Element& element) {
  std::string text;
  const size_t width = element.type == kUint16 ? 2 : 1;
  for (size_t at = 0; at + width <= element.data.size(); at += width) {
    const unsigned unit = width == 2 ? Get<uint16_t>(element.data.data() + at) : element.data[at];
    text += width == 2 && unit > 127 ? '?' : char(unit);
  }
  return text;
}

absl::StatusOr<MatlabValue> ParseValue(Bytes bytes) {
  if (bytes.empty()) return MatlabValue();  // how an empty array may be stored
  DTNN_ASSIGN_OR_RETURN(Array array, OpenArray(bytes));
  if (array.kind == kChar) {
    if (array.rest.empty()) return MatlabValue(std::string());
    DTNN_ASSIGN_OR_RETURN(const Element text, Next(array.rest));
    return MatlabValue(Text(text));
  }
  if (array.kind < kFirstNumeric || array.kind > kLastNumeric || array.elements != 1) {
    return MatlabValue();
  }
  DTNN_ASSIGN_OR_RETURN(const Element data, Next(array.rest));
  double number = 0;
  if (!Number(data, number)) return Damaged("a number has no room for its value");
  return MatlabValue(number);
}

// Names of a fixed length, padded with zeros.
absl::StatusOr<std::vector<std::string_view>> FieldNames(Bytes& bytes) {
  DTNN_ASSIGN_OR_RETURN(const Element length, Next(bytes, kInt32, "the length of field names"));
  const int32_t each = length.data.size() == 4 ? Get<int32_t>(length.data.data()) : 0;
  if (each < 1 || each > 4096) return Damaged("the length of field names is not possible");
  DTNN_ASSIGN_OR_RETURN(const Element names, Next(bytes, kInt8, "the field names"));
  std::vector<std::string_view> fields;
  for (size_t at = 0; at + size_t(each) <= names.data.size(); at += size_t(each)) {
    const std::string_view padded(reinterpret_cast<const char*>(names.data.data()) + at,
                                  size_t(each));
    fields.push_back(padded.substr(0, padded.find('\0')));
  }
  if (fields.empty()) return Damaged("a struct array has no fields");
  return fields;
}

absl::StatusOr<std::vector<std::vector<MatlabValue>>> ParseStructs(
    Array array, std::span<const std::string_view> wanted) {
  if (array.kind != kStruct) {
    return InvalidArgument("variable \"", array.name, "\" is not a struct array");
  }
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::string_view> fields, FieldNames(array.rest));
  std::vector<size_t> columns;  // of `fields`: which of `wanted`, or none
  for (const std::string_view field : fields) {
    columns.push_back(size_t(std::find(wanted.begin(), wanted.end(), field) - wanted.begin()));
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (std::find(columns.begin(), columns.end(), i) == columns.end()) {
      return InvalidArgument("variable \"", array.name, "\" has no field \"", wanted[i], "\"");
    }
  }
  // Every field of every element has a tag at least.
  if (array.elements > kMaxRows ||
      array.elements > int64_t(array.rest.size() / 8 / fields.size())) {
    return Damaged("a struct array has more elements than fit");
  }
  std::vector<std::vector<MatlabValue>> rows(size_t(array.elements),
                                             std::vector<MatlabValue>(wanted.size()));
  for (std::vector<MatlabValue>& row : rows) {
    for (const size_t column : columns) {
      DTNN_ASSIGN_OR_RETURN(const Element element, Next(array.rest, kMatrix, "a field"));
      if (column == wanted.size()) continue;
      DTNN_ASSIGN_OR_RETURN(row[column], ParseValue(element.data));
    }
  }
  return rows;
}

absl::StatusOr<std::vector<std::vector<MatlabValue>>> Parse(
    Bytes bytes, std::string_view variable, std::span<const std::string_view> fields) {
  if (bytes.size() < kHeaderSize || bytes[126] != 'I' || bytes[127] != 'M' || bytes[125] != 1) {
    return absl::InvalidArgumentError("is not a MATLAB 5 file of little-endian numbers");
  }
  bytes = bytes.subspan(kHeaderSize);
  while (!bytes.empty()) {
    DTNN_ASSIGN_OR_RETURN(Element element, Next(bytes));
    std::vector<uint8_t> unpacked;
    if (element.type == kCompressed) {
      DTNN_ASSIGN_OR_RETURN(unpacked, Inflate(element.data));
      Bytes inside = unpacked;
      DTNN_ASSIGN_OR_RETURN(element, Next(inside));
    }
    if (element.type != kMatrix) continue;
    DTNN_ASSIGN_OR_RETURN(const Array array, OpenArray(element.data));
    if (array.name == variable) return ParseStructs(array, fields);
  }
  return InvalidArgument("contains no variable \"", variable, "\"");
}

}  // namespace

absl::StatusOr<std::vector<std::vector<MatlabValue>>> ReadMatlabStructs(
    std::span<const uint8_t> bytes, std::string_view name, std::string_view variable,
    std::span<const std::string_view> fields) {
  return WithContext(Parse(bytes, variable, fields), name);
}

}  // namespace dtnn
