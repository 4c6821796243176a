#include "data/testing/matlab_files.h"

#include <zlib.h>

#include <cstring>

namespace dtnn::testing {
namespace {

using Bytes = std::vector<uint8_t>;

void Append32(Bytes& to, uint32_t value) {
  for (int shift : {0, 8, 16, 24}) to.push_back(uint8_t(value >> shift));
}

void AppendElement(Bytes& to, uint32_t type, const Bytes& data) {
  if (data.size() <= 4 && !data.empty()) {
    Append32(to, type | uint32_t(data.size()) << 16);
    to.insert(to.end(), data.begin(), data.end());
    to.insert(to.end(), 4 - data.size(), 0);
    return;
  }
  Append32(to, type);
  Append32(to, uint32_t(data.size()));
  to.insert(to.end(), data.begin(), data.end());
  while (to.size() % 8 != 0) to.push_back(0);
}

Bytes Words(std::initializer_list<uint32_t> values) {
  Bytes bytes;
  for (const uint32_t value : values) Append32(bytes, value);
  return bytes;
}

Bytes ArrayHead(uint8_t kind, uint32_t rows, uint32_t columns, const std::string& name) {
  Bytes bytes;
  AppendElement(bytes, 6, Words({kind, 0}));
  AppendElement(bytes, 5, Words({rows, columns}));
  AppendElement(bytes, 1, Bytes(name.begin(), name.end()));
  return bytes;
}

Bytes Value(const std::variant<double, std::string>& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    Bytes bytes = ArrayHead(4, 1, uint32_t(text->size()), "");
    Bytes units;
    for (const char c : *text) units.insert(units.end(), {uint8_t(c), 0});
    AppendElement(bytes, 4, units);
    return bytes;
  }
  Bytes bytes = ArrayHead(6, 1, 1, "");
  const double number = std::get<double>(value);
  if (number >= 0 && number < 256 && number == double(uint8_t(number))) {
    AppendElement(bytes, 2, {uint8_t(number)});
  } else if (number >= 0 && number < 65536 && number == double(uint16_t(number))) {
    AppendElement(bytes, 4, {uint8_t(uint16_t(number)), uint8_t(uint16_t(number) >> 8)});
  } else {
    Bytes raw(8);
    std::memcpy(raw.data(), &number, 8);
    AppendElement(bytes, 9, raw);
  }
  return bytes;
}

}  // namespace

std::vector<uint8_t> MatlabBytes(const MatlabStructs& structs, bool compressed) {
  constexpr size_t kNameLength = 16;
  Bytes array = ArrayHead(2, uint32_t(structs.rows.size()), 1, structs.variable);
  AppendElement(array, 5, Words({kNameLength}));
  Bytes names;
  for (std::string name : structs.fields) {
    name.resize(kNameLength);
    names.insert(names.end(), name.begin(), name.end());
  }
  AppendElement(array, 1, names);
  for (const auto& row : structs.rows) {
    for (const auto& value : row) AppendElement(array, 14, Value(value));
  }
  Bytes matrix;
  AppendElement(matrix, 14, array);

  Bytes file(124, ' ');
  file.insert(file.end(), {0, 1, 'I', 'M'});
  if (!compressed) {
    file.insert(file.end(), matrix.begin(), matrix.end());
    return file;
  }
  uLongf size = compressBound(matrix.size());
  Bytes packed(size);
  compress(packed.data(), &size, matrix.data(), matrix.size());
  Append32(file, 15);
  Append32(file, uint32_t(size));
  file.insert(file.end(), packed.begin(), packed.begin() + long(size));
  return file;
}

std::vector<uint8_t> SynsetBytes(const std::vector<Synset>& synsets, bool compressed) {
  MatlabStructs structs;
  structs.fields = {"ILSVRC2012_ID", "WNID", "words", "num_children"};
  for (const Synset& synset : synsets) {
    structs.rows.push_back({double(synset.id), synset.wnid, synset.words, 0.0});
  }
  return MatlabBytes(structs, compressed);
}

}  // namespace dtnn::testing
