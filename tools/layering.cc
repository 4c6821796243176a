#include "tools/layering.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>

#include "tools/class_names.h"

namespace dtnn::layering {
namespace {

namespace fs = std::filesystem;

struct Folder {
  std::string_view name;
  int floor;  // a folder may use those on lower floors
};

constexpr Folder kHouse[] = {
    {"tensor", 0}, {"kernels", 1}, {"tools", 2},  {"layers", 2}, {"optim", 2},
    {"data", 2},   {"comm", 2},    {"models", 3}, {"apps", 4},   {"bench", 5},
};

// The rooms of folders that have an order among them: a room may use those on lower floors and its
// own. Rooms that are not named, the programs of apps for one, use all that are named, not each
// other, and no named room uses them.
constexpr Folder kRooms[] = {
    {"tensor/text", 0},
    {"tensor/trace", 0},
    {"tensor/machine", 1},
    {"tensor/threads", 2},
    {"tensor", 3},
    {"tensor/gpu", 3},
    {"tensor/files", 4},

    {"layers/base", 0},
    {"layers", 1},
    {"layers/channels", 1},
    {"layers/merging", 1},
    {"layers/normalization", 1},
    {"layers/pixels", 1},
    {"layers/upsampling", 1},
    {"layers/table", 2},
    {"layers/int8", 2},

    {"optim/losses", 0},
    {"optim/optimizers", 0},
    {"optim/metrics", 1},
    {"optim/schedulers", 2},

    {"data/files", 0},
    {"data/images", 1},
    {"data", 2},
    {"data/transforms", 3},
    {"data/formats", 4},
    {"data/datasets", 5},
    {"data/datasets/imagenet", 6},
    {"data/loading", 7},

    {"comm", 0},
    {"comm/wire", 0},
    {"comm/secrets/crypto", 1},
    {"comm/secrets/ckks", 2},
    {"comm/secrets/masked", 2},
    {"comm/secrets/sums", 3},
    {"comm/transport", 4},
    {"comm/transport/meeting", 5},
    {"comm/transport/shared", 5},
    {"comm/transport/tcp", 6},
    {"comm/transport/relay", 6},
    {"comm/transport/tls", 7},
    {"comm/http", 7},
    {"comm/transport/grpc", 8},
    {"comm/transport/mqtt", 8},
    {"comm/ranks/group", 9},
    {"comm/ranks/gradients", 9},
    {"comm/ranks/nccl", 9},
    {"comm/ranks/elastic", 9},
    {"comm/ranks/mpi", 10},
    {"comm/ranks/exchange", 10},
    {"comm/ranks/job", 11},
    {"comm/federation", 12},

    {"models/graph", 0},
    {"models/parameters", 1},
    {"models/plan", 2},
    {"models/zoo", 2},
    {"models/quantization", 3},
    {"models/checkpoint", 3},
    {"models/serving", 4},
    {"models/training/ranks", 4},
    {"models/training/privacy", 4},
    {"models/onnx/file", 4},
    {"models/serving/protocol", 5},
    {"models/c", 5},
    {"models/onnx/shapes", 5},
    {"models/torch", 5},
    {"models/training/step", 5},
    {"models/training", 6},
    {"models/callbacks", 7},
    {"models/onnx/export", 7},
    {"models/onnx/import", 7},
    {"models/training/rates", 7},
    {"models/observe/trace", 7},
    {"models/observe/energy", 7},
    {"models/observe/report", 8},
    {"models/observe/tensorboard", 8},
    {"models/run/options", 8},
    {"models/run/tables", 8},
    {"models/run/checks", 9},
    {"models/run/samples", 9},
    {"models/run/parts", 10},
    {"models/run/observe", 11},
    {"models/run/federated", 11},
    {"models/run/objects", 12},
    {"models/run/prepare", 13},
    {"models/run", 14},
    {"models/run/simulation", 15},

    {"apps/flags", 0},
    {"apps/monitor", 1},
    {"apps/options_file", 1},
    {"apps/program", 1},
    {"apps/help", 2},
    {"apps/printing", 2},
    {"apps/rounds", 2},
    {"apps/conversion", 2},
    {"apps", 4},
};
constexpr int kUnnamedRoom = 3;

// Two folders of one room, which use each other.
constexpr std::string_view kTwins[][2] = {{"tensor", "tensor/gpu"}};

// Libraries, whose messages name no flags of programs; flags of other programs are advice that any
// user can take.
constexpr std::string_view kLibraries[] = {"tensor", "kernels", "layers", "optim",
                                           "data",   "comm",    "models"};
constexpr std::string_view kForeignFlags[] = {"--config=", "--bind-to ",
                                              "--class-names=", "--num-classes="};

// Above kernels, and the one place there that names devices.
constexpr std::string_view kAboveKernels[] = {"layers", "optim", "data", "comm", "models", "apps"};
constexpr std::string_view kDeviceMaker = "models/run/parts/make_device.cc";
constexpr std::string_view kDeviceQuestions[] = {
    "is_cpu()",         "DeviceType::",  "Device::Cuda(",  "Device::Simulated(", "== Device::Cpu()",
    "!= Device::Cpu()", "device().type", "device().index", "\"kernels/gpu/",     "\"tensor/gpu/",
};

constexpr int kMostSources = 40;
constexpr std::string_view kLargerFolders[] = {"models/zoo"};

// Folders whose sources have no floor: they may use every folder.
constexpr std::string_view kOutside[] = {"examples", "packaging", "third_party", "docs"};

// Folders whose BUILD files use Bazel's own rules: repositories of libraries of the system, and
// another workspace.
constexpr std::string_view kOwnRules[] = {"third_party", "examples/embed"};

constexpr std::string_view kRulesFile = "//tools:dtnn.bzl";

// What Bazel's own rules that compile or run something begin with.
constexpr std::string_view kNativeRules[] = {"cc_",    "sh_",     "py_",      "java_",
                                             "proto_", "native.", "genrule(", "test_suite("};

std::string_view TopFolder(std::string_view path) { return path.substr(0, path.find('/')); }

const Folder* Find(std::string_view name) {
  const auto* found = std::ranges::find(kHouse, name, &Folder::name);
  return found == std::end(kHouse) ? nullptr : found;
}

std::string_view TrimLeft(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t");
  return start == std::string_view::npos ? std::string_view() : text.substr(start);
}

// The source of a test, benchmark or fuzzer, each of which is a program of its own.
bool IsProgramOfTests(std::string_view path) {
  const std::string_view stem = path.substr(0, path.rfind('.'));
  return stem.ends_with("_test") || stem.ends_with("_benchmark") || stem.ends_with("_fuzz");
}

bool IsTestSource(std::string_view path) {
  return IsProgramOfTests(path) || path.find("/testing/") != std::string_view::npos;
}

// Why `user` may not use `used`, or nothing when it may.  `in_test`: the edge serves a test only.
std::optional<std::string> Refusal(const Folder& user, const Folder& used, bool in_test) {
  if (user.name == used.name) return std::nullopt;
  if (used.name == "bench") {
    if (in_test) return std::nullopt;
    return "only tests and benchmarks may use bench";
  }
  if (used.name == "tools") {
    if (in_test) return std::nullopt;
    return "only tests and benchmarks may use tools";
  }
  if (used.floor < user.floor) return std::nullopt;
  std::string allowed;
  for (const Folder& folder : kHouse) {
    if (folder.floor >= user.floor || folder.name == "tools") continue;
    allowed += (allowed.empty() ? "" : ", ") + std::string(folder.name);
  }
  return std::string(used.floor == user.floor ? "sideways" : "upwards") + "; " +
         std::string(user.name) + " may use " + (allowed.empty() ? "no other folder" : allowed);
}

// The named room that `folder` is or is a part of; else itself.
Folder RoomOf(std::string_view folder) {
  Folder found = {folder, kUnnamedRoom};
  size_t longest = 0;
  for (const Folder& room : kRooms) {
    const bool part = room.name.find('/') != std::string_view::npos &&
                      folder.starts_with(std::string(room.name) + "/");
    if ((room.name == folder || part) && room.name.size() > longest) {
      found = room;
      longest = room.name.size();
    }
  }
  return found;
}

bool HasRooms(std::string_view folder) {
  return std::ranges::any_of(
      kRooms, [&](const Folder& room) { return TopFolder(room.name) == TopFolder(folder); });
}

// The same as Refusal for two rooms of one folder of the house.
std::optional<std::string> RoomRefusal(std::string_view user, std::string_view used, bool in_test) {
  if (in_test || TopFolder(user) != TopFolder(used) || !HasRooms(user) ||
      used.ends_with("/testing")) {
    return std::nullopt;
  }
  const Folder from = RoomOf(user), to = RoomOf(used);
  const bool twins = std::ranges::any_of(kTwins, [&](const auto& pair) {
    return (pair[0] == from.name && pair[1] == to.name) ||
           (pair[1] == from.name && pair[0] == to.name);
  });
  if (from.name == to.name || to.floor < from.floor || twins) return std::nullopt;
  return std::string(to.floor == from.floor ? "sideways" : "upwards") + "; the rooms of " +
         std::string(TopFolder(user)) + " have an order, in tools/layering.cc";
}

std::string_view ParentFolder(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

void ForEachLine(std::string_view text, const std::function<void(int, std::string_view)>& visit) {
  for (int line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    visit(line, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// The path that a line includes, or nothing.
std::optional<std::string_view> IncludedPath(std::string_view line) {
  line = TrimLeft(line);
  if (!line.starts_with('#')) return std::nullopt;
  line = TrimLeft(line.substr(1));
  if (!line.starts_with("include")) return std::nullopt;
  line = TrimLeft(line.substr(7));
  if (line.empty() || (line[0] != '"' && line[0] != '<')) return std::nullopt;
  const size_t end = line.find(line[0] == '"' ? '"' : '>', 1);
  if (end == std::string_view::npos) return std::nullopt;
  return line.substr(1, end - 1);
}

// The package paths of all labels of this repository in a line of a BUILD file.
std::vector<std::string_view> LabelPackages(std::string_view line) {
  std::vector<std::string_view> packages;
  for (size_t quote = line.find('"'); quote != std::string_view::npos;
       quote = line.find('"', quote + 1)) {
    const size_t end = line.find('"', quote + 1);
    if (end == std::string_view::npos) break;
    std::string_view label = line.substr(quote + 1, end - quote - 1);
    quote = end;
    if (label.starts_with("@dtnn//")) label.remove_prefix(5);
    if (!label.starts_with("//")) continue;
    // Visibility names who may use a target, not whom it uses.
    if (label.ends_with("__pkg__") || label.ends_with("__subpackages__")) continue;
    label.remove_prefix(2);
    packages.push_back(label.substr(0, label.find(':')));
  }
  return packages;
}

// The string literals of a line, without their quotes, up to a comment. No literal of the sources
// begins on another line.
std::vector<std::string_view> Literals(std::string_view line) {
  std::vector<std::string_view> literals;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line.substr(i).starts_with("//")) break;
    if (line.substr(i).starts_with("'\"'")) i += 3;
    if (i >= line.size() || line[i] != '"') continue;
    const size_t begin = ++i;
    while (i < line.size() && line[i] != '"') i += line[i] == '\\' ? 2 : 1;
    literals.push_back(line.substr(begin, i - begin));
  }
  return literals;
}

// The first flag in `literal`: "--" and a letter.
std::optional<std::string_view> FlagIn(std::string_view literal) {
  for (size_t at = literal.find("--"); at != literal.npos; at = literal.find("--", at + 1)) {
    const std::string_view flag = literal.substr(at);
    const auto begins = [&](std::string_view foreign) { return flag.starts_with(foreign); };
    if (flag.size() < 3 || flag[2] < 'a' || flag[2] > 'z') continue;
    if (at > 0 && literal[at - 1] == '-') continue;
    if (!std::ranges::any_of(kForeignFlags, begins))
      return flag.substr(0, flag.find_first_of(" ,;:.)="));
  }
  return std::nullopt;
}

std::string At(std::string_view path, int line) {
  return std::string(path) + ":" + std::to_string(line) + ": ";
}

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

bool IsSource(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".h" || extension == ".cc" || extension == ".cu" || extension == ".cuh" ||
         extension == ".inc";
}

bool IsBuildFile(const fs::path& path) {
  return path.filename() == "BUILD.bazel" || path.filename() == "BUILD";
}

void Append(std::vector<std::string> from, std::vector<std::string>& to) {
  std::ranges::move(from, std::back_inserter(to));
}

// The second rule, on a BUILD file or on all those in a folder.
void CheckRulesBelow(const fs::path& root, const fs::directory_entry& entry,
                     std::vector<std::string>& findings) {
  const auto check = [&](const fs::directory_entry& file) {
    if (!file.is_regular_file() || !IsBuildFile(file.path())) return;
    const std::string path = file.path().lexically_relative(root).generic_string();
    Append(CheckRules(path, ReadFile(file.path())), findings);
  };
  check(entry);
  if (!entry.is_directory()) return;
  for (const auto& below : fs::recursive_directory_iterator(entry.path())) check(below);
}

// `texts` receives the sources.
void CheckFolder(const fs::path& root, const fs::path& folder, int& files_read,
                 std::vector<std::string>& findings, std::map<std::string, std::string>& texts) {
  const bool known = Find(folder.filename().string()) != nullptr;
  std::map<std::string, int> sources;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const bool source = IsSource(entry.path());
    if (!source && !IsBuildFile(entry.path())) continue;
    const std::string path = entry.path().lexically_relative(root).generic_string();
    if (!known) {
      findings.push_back(path + ": no floor of the house: add the folder to tools/layering.cc");
      return;
    }
    const std::string text = ReadFile(entry.path());
    Append(source ? CheckSource(path, text) : CheckBuildFile(path, text), findings);
    if (source) {
      Append(CheckFlags(path, text), findings);
      Append(CheckDevices(path, text), findings);
      ++sources[std::string(ParentFolder(path))];
      texts[path] = text;
    }
    ++files_read;
  }
  for (const auto& [name, count] : sources) {
    if (count <= kMostSources || std::ranges::count(kLargerFolders, name) > 0) continue;
    findings.push_back(name + ": has " + std::to_string(count) + " sources, more than " +
                       std::to_string(kMostSources) +
                       ": make a room of those that belong together");
  }
}

}  // namespace

std::vector<std::string> CheckSource(std::string_view path, std::string_view text) {
  std::vector<std::string> findings;
  const Folder* user = Find(TopFolder(path));
  if (user == nullptr) return findings;
  ForEachLine(text, [&](int line, std::string_view content) {
    const auto included = IncludedPath(content);
    if (!included) return;
    if (included->starts_with("../") || included->find("/../") != std::string_view::npos) {
      findings.push_back(At(path, line) + "includes " + std::string(*included) +
                         ": write the path from the repository's root");
      return;
    }
    const Folder* used = Find(TopFolder(*included));
    if (used == nullptr) return;
    const bool in_test = IsTestSource(path);
    auto refusal = Refusal(*user, *used, in_test);
    if (!refusal) refusal = RoomRefusal(ParentFolder(path), ParentFolder(*included), in_test);
    if (refusal) {
      findings.push_back(At(path, line) + "includes " + std::string(*included) + ": " + *refusal);
    }
  });
  return findings;
}

std::vector<std::string> CheckBuildFile(std::string_view path, std::string_view text) {
  std::vector<std::string> findings;
  const Folder* user = Find(TopFolder(path));
  if (user == nullptr) return findings;
  bool in_test = false;
  ForEachLine(text, [&](int line, std::string_view content) {
    if (TrimLeft(content).starts_with('#') || content.starts_with("load(")) return;
    const size_t open = content.find('(');
    if (open != std::string_view::npos && TrimLeft(content).size() == content.size()) {
      const std::string_view rule = content.substr(0, open);
      in_test = rule.ends_with("_test") || rule.ends_with("_benchmark") ||
                path.find("/testing/") != std::string_view::npos;
    }
    for (std::string_view package : LabelPackages(content)) {
      const Folder* used = Find(TopFolder(package));
      if (used == nullptr) continue;
      auto refusal = Refusal(*user, *used, in_test);
      if (!refusal) refusal = RoomRefusal(ParentFolder(path), package, in_test);
      if (refusal) {
        findings.push_back(At(path, line) + "depends on //" + std::string(package) + ": " +
                           *refusal);
      }
    }
  });
  return findings;
}

std::vector<std::string> CheckFlags(std::string_view path, std::string_view text) {
  std::vector<std::string> findings;
  if (std::ranges::count(kLibraries, TopFolder(path)) == 0 || IsTestSource(path)) return findings;
  ForEachLine(text, [&](int line, std::string_view content) {
    for (const std::string_view literal : Literals(content)) {
      const auto flag = FlagIn(literal);
      if (!flag) continue;
      findings.push_back(At(path, line) + "names " + std::string(*flag) +
                         ": a library knows no flags; name the argument, and its flag in "
                         "apps/flags/argument_flags.cc");
    }
  });
  return findings;
}

std::vector<std::string> CheckDevices(std::string_view path, std::string_view text) {
  std::vector<std::string> findings;
  if (std::ranges::count(kAboveKernels, TopFolder(path)) == 0 || IsTestSource(path) ||
      path == kDeviceMaker) {
    return findings;
  }
  ForEachLine(text, [&](int line, std::string_view content) {
    const std::string_view code = content.substr(0, content.find("//"));
    for (const std::string_view question : kDeviceQuestions) {
      if (code.find(question) == code.npos) continue;
      findings.push_back(At(path, line) + "says " + std::string(question) +
                         ": only kernels know which device it is; ask for what it can do "
                         "(kernels/device/device_traits.h), or move the decision there");
    }
  });
  return findings;
}

std::vector<std::string> RoomNames() {
  std::vector<std::string> names;
  std::string_view folder;
  for (const Folder& room : kRooms) {
    if (TopFolder(room.name) != folder) names.push_back(std::string(TopFolder(room.name)) + ":");
    folder = TopFolder(room.name);
    const std::string_view below = room.name.substr(std::min(room.name.size(), folder.size() + 1));
    names.back() += " " + std::string(below.empty() ? folder : below);
  }
  return names;
}

std::vector<std::string> CheckRules(std::string_view path, std::string_view text) {
  std::vector<std::string> findings;
  const auto above = [&](std::string_view folder) {
    return path.starts_with(std::string(folder) + "/");
  };
  if (std::ranges::any_of(kOwnRules, above)) return findings;
  ForEachLine(text, [&](int line, std::string_view content) {
    content = TrimLeft(content);
    if (content.starts_with("load(\"")) {
      const std::string_view file = content.substr(6, content.find('"', 6) - 6);
      if (file != kRulesFile) {
        findings.push_back(At(path, line) + "loads " + std::string(file) + ": load " +
                           std::string(kRulesFile) + " only");
      }
    }
    const size_t open = content.find('(');
    if (open == std::string_view::npos) return;
    const auto begins = [&](std::string_view rule) { return content.starts_with(rule); };
    if (std::ranges::any_of(kNativeRules, begins)) {
      findings.push_back(At(path, line) + "uses " + std::string(content.substr(0, open)) +
                         ": a rule of Bazel's own; load one from " + std::string(kRulesFile));
    }
  });
  return findings;
}

std::vector<std::string> CheckClasses(const std::map<std::string, std::string>& sources) {
  struct Place {
    std::string_view path;
    int line;
  };
  std::map<std::string, std::vector<Place>> places;
  for (const auto& [path, text] : sources) {
    for (const ClassName& found : ClassesIn(text)) places[found.name].push_back({path, found.line});
  }
  std::vector<std::string> findings;
  for (const auto& [name, of_name] : places) {
    // Against the first library's, if there is one.
    const Place* first = &of_name[0];
    for (const Place& place : of_name) {
      if (IsProgramOfTests(first->path) && !IsProgramOfTests(place.path)) first = &place;
    }
    for (const Place& place : of_name) {
      if (place.path == first->path || IsProgramOfTests(first->path)) continue;
      findings.push_back(At(place.path, place.line) + "defines " + name + ", as " +
                         At(first->path, first->line) +
                         "the linker keeps one of their functions; rename one, or hide it in a "
                         "namespace without a name");
    }
  }
  return findings;
}

std::vector<std::string> CheckTree(const fs::path& root, int* files_read) {
  std::vector<std::string> findings;
  std::map<std::string, std::string> texts;
  int count = 0;
  for (const auto& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    // Bazel's own links (bazel-bin, ...) and hidden folders are not part of the sources.
    if (entry.is_symlink() || name.starts_with('.')) continue;
    CheckRulesBelow(root, entry, findings);
    if (!entry.is_directory() || std::ranges::find(kOutside, name) != std::end(kOutside)) continue;
    CheckFolder(root, entry.path(), count, findings, texts);
  }
  Append(CheckClasses(texts), findings);
  if (files_read != nullptr) *files_read = count;
  std::ranges::sort(findings);
  return findings;
}

}  // namespace dtnn::layering
