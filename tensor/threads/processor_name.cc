#include "tensor/threads/processor_name.h"

#include <cctype>
#include <fstream>
#include <string_view>

namespace dtnn {

namespace {

// The first processor's; empty where there is no such line.
std::string CpuInfo(std::string_view name) {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpuinfo, line)) {
    const std::string_view text(line);
    const size_t colon = text.find(": ");
    if (colon == text.npos || !text.starts_with(name)) continue;
    if (text.find_first_not_of(" \t", name.size()) == colon) return line.substr(colon + 2);
  }
  return "";
}

}  // namespace

std::string ProcessorName() {
  const std::string name = CpuInfo("model name");
  return name.empty() ? "unknown processor" : name;
}

std::string ProcessorModel() {
  std::string model;
  for (const std::string_view name : {"vendor_id", "cpu family", "model"}) {
    const std::string word = CpuInfo(name);
    if (word.empty()) return "unknown";
    model += (model.empty() ? "" : "-") + word;
  }
  for (char& c : model) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.') c = '_';
  }
  return model;
}

}  // namespace dtnn
