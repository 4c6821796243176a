#include "data/loading/division/division.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "data/loading/division/division_file.h"
#include "data/loading/division/part.h"
#include "data/loading/division/random_shares.h"
#include "data/loading/shuffle.h"
#include "data/loading/split.h"
#include "tensor/errors.h"
#include "tensor/philox.h"
#include "tensor/text/number.h"
#include "tensor/text/one_line.h"

namespace dtnn {
namespace {

using Divided = std::vector<std::vector<int64_t>>;

// Streams of random numbers that nothing else of RandomPurpose::kSplit has: the order of all
// samples, and the shares of them; two for each label, its order and its shares; one for each
// client, its labels.
constexpr uint64_t kOrder = 3, kShares = 4, kOfLabel = 16, kOfClient = uint64_t{4} << 48;

struct Kind {
  std::string_view word;
  DivisionKind kind;
  double low, high;  // of its number
};
constexpr Kind kKinds[] = {{"dirichlet", DivisionKind::kDirichlet, 1e-3, 1e6},
                           {"labels", DivisionKind::kLabels, 1, 65536},
                           {"sizes", DivisionKind::kSizes, 0, 10}};

Philox Random(const Division& division, uint64_t stream) {
  return Philox(division.seed, StreamId(RandomPurpose::kSplit, stream));
}

// The samples of each label, in random order.
Divided SamplesByLabel(const Division& division, std::span<const int32_t> labels) {
  Divided by_label;
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto label = size_t(labels[i]);
    if (label >= by_label.size()) by_label.resize(label + 1);
    by_label[label].push_back(int64_t(i));
  }
  for (size_t label = 0; label < by_label.size(); ++label) {
    Shuffle(Random(division, kOfLabel + 2 * label), by_label[label]);
  }
  return by_label;
}

// Adds the pieces of `samples` that end there to `parts`, one each.
void DealOut(std::span<const int64_t> samples, std::span<const int64_t> ends,
             std::span<std::vector<int64_t>* const> parts) {
  int64_t begin = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i]->insert(parts[i]->end(), samples.begin() + begin, samples.begin() + ends[i]);
    begin = ends[i];
  }
}

std::vector<std::vector<int64_t>*> AllOf(Divided& divided) {
  std::vector<std::vector<int64_t>*> parts;
  for (std::vector<int64_t>& part : divided) parts.push_back(&part);
  return parts;
}

void DivideByDirichlet(const Division& division, std::span<const int32_t> labels,
                       Divided& divided) {
  const Divided by_label = SamplesByLabel(division, labels);
  for (size_t label = 0; label < by_label.size(); ++label) {
    const std::vector<double> shares = DirichletShares(Random(division, kOfLabel + 2 * label + 1),
                                                       division.number, int64_t(divided.size()));
    DealOut(by_label[label], EndsOfShares(shares, int64_t(by_label[label].size())), AllOf(divided));
  }
}

// The clients take turns; each takes the labels that the fewest have, of those with equally many
// random ones.
absl::Status DivideByLabels(const Division& division, std::span<const int32_t> labels,
                            Divided& divided) {
  const Divided by_label = SamplesByLabel(division, labels);
  std::vector<int64_t> present;
  for (size_t label = 0; label < by_label.size(); ++label) {
    if (!by_label[label].empty()) present.push_back(int64_t(label));
  }
  const auto each = size_t(division.number);
  if (each > present.size()) {
    return InvalidArgument(each, " labels per client, but the samples have ", present.size());
  }
  std::vector<std::vector<std::vector<int64_t>*>> owners(by_label.size());
  for (size_t client = 0; client < divided.size(); ++client) {
    std::vector<int64_t> order = present;
    Shuffle(Philox(division.seed, StreamId(RandomPurpose::kSplit, kOfClient | client)), order);
    std::ranges::stable_sort(order, {},
                             [&](int64_t label) { return owners[size_t(label)].size(); });
    for (size_t i = 0; i < each; ++i) owners[size_t(order[i])].push_back(&divided[client]);
  }
  for (size_t label = 0; label < by_label.size(); ++label) {
    if (owners[label].empty()) continue;  // fewer clients than labels
    const std::vector<double> shares(owners[label].size(), 1.0 / double(owners[label].size()));
    DealOut(by_label[label], EndsOfShares(shares, int64_t(by_label[label].size())), owners[label]);
  }
  return absl::OkStatus();
}

void DivideBySizes(const Division& division, int64_t n, Divided& divided) {
  std::vector<int64_t> order = AllIndices(n);
  Shuffle(Random(division, kOrder), order);
  const std::vector<double> shares =
      LogNormalShares(Random(division, kShares), division.number, int64_t(divided.size()));
  DealOut(order, EndsOfShares(shares, n), AllOf(divided));
}

}  // namespace

absl::StatusOr<Division> ParseDivision(std::string_view text) {
  const auto expected = [text](const auto&... words) {
    return InvalidArgument("\"", OneLine(std::string(text), 80), "\": expected ", words...);
  };
  if (text == "equal") return Division{};
  const size_t colon = std::min(text.find(':'), text.size());
  const std::string_view word = text.substr(0, colon);
  std::string_view rest = text.substr(std::min(colon + 1, text.size()));
  if (word == "file" && !rest.empty()) {
    return Division{.kind = DivisionKind::kFile, .file = std::string(rest)};
  }
  const auto* kind = std::ranges::find(kKinds, word, &Kind::word);
  if (kind == std::end(kKinds)) {
    return expected("equal, dirichlet:ALPHA, labels:K, sizes:SIGMA or file:FILE");
  }
  Division division = {.kind = kind->kind};
  const size_t second = std::min(rest.find(':'), rest.size());
  const std::optional<double> number = NumberIn<double>(rest.substr(0, second));
  const bool whole = kind->kind == DivisionKind::kLabels;
  if (!number || !(*number >= kind->low && *number <= kind->high) ||
      (whole && *number != std::floor(*number))) {
    return expected(word, whole ? " with a whole number from " : " with a number from ", kind->low,
                    " to ", kind->high, ", such as ", word, whole ? ":2" : ":0.3");
  }
  division.number = *number;
  if (second == rest.size()) return division;
  const std::optional<uint64_t> seed = NumberIn<uint64_t>(rest.substr(second + 1));
  if (!seed) return expected("a seed after the second colon, a whole number from 0");
  division.seed = *seed;
  return division;
}

absl::StatusOr<Divided> DivideSamples(const Division& division, int64_t n,
                                      std::span<const int32_t> labels, int64_t parts) {
  if (division.kind == DivisionKind::kEqual) return PartsOfSamples(n, parts);
  if (division.kind == DivisionKind::kFile) return ReadDivisionFile(division.file, n, parts);
  Divided divided;
  divided.resize(size_t(parts));
  if (division.kind == DivisionKind::kSizes) {
    DivideBySizes(division, n, divided);
  } else if (labels.empty()) {
    return InvalidArgument(
        "needs one class per sample, known before samples are read; these have values, or tell it "
        "only with each sample");
  } else if (int64_t(labels.size()) != n ||
             std::ranges::any_of(labels, [](int32_t label) { return label < 0; })) {
    return absl::InvalidArgumentError("the labels must be one class per sample");
  } else if (division.kind == DivisionKind::kDirichlet) {
    DivideByDirichlet(division, labels, divided);
  } else {
    DTNN_RETURN_IF_ERROR(DivideByLabels(division, labels, divided));
  }
  for (std::vector<int64_t>& part : divided) std::ranges::sort(part);
  return divided;
}

}  // namespace dtnn
