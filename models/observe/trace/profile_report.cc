#include "models/observe/trace/profile_report.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tensor/text/json_text.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

double Seconds(const Profile::Sum& sum) { return double(sum.nanoseconds) / 1e9; }

double Divide(double a, double b) { return b > 0 ? a / b : 0; }

LayerPasses PassesOf(const Profile::LayerSums& sums) {
  return {.forward = sums.forward.calls,
          .forward_samples = sums.forward.samples,
          .backward = sums.backward.calls,
          .backward_samples = sums.backward.samples};
}

// What its passes did in their time, and what the machine could have.
void SetSpeed(const LayerWork& work, const MachineSpeed& machine, ProfileReport::Layer& layer) {
  const double seconds = layer.forward + layer.backward;
  layer.flops_per_second = Divide(work.flops, seconds);
  layer.bytes_per_second = Divide(work.bytes, seconds);
  layer.memory_bound = Divide(work.bytes, machine.bytes) > Divide(work.flops, machine.flops);
  layer.reached = Divide(SecondsAtBest(work, machine), seconds);
}

void AddKind(const ProfileReport::Layer& layer, std::vector<ProfileReport::Kind>& kinds) {
  auto kind = std::ranges::find(kinds, layer.type, &ProfileReport::Kind::type);
  if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {.type = layer.type});
  ++kind->layers;
  kind->seconds += layer.seconds();
  kind->share += layer.share;
}

// The own time of a step, and of an epoch, is outside all other activities.
std::string RowName(Activity activity) {
  if (activity == Activity::kStep) return "rest of the steps";
  if (activity == Activity::kTraining) return "between the steps";
  return std::string(Name(activity));
}

std::string Percent(double share) { return absl::StrFormat("%.1f%%", 100 * share); }

std::string Machine(const ProfileReport& report, double per_step) {
  const MachineSpeed &measured = report.machine, &predicted = report.predicted_machine;
  if (measured.flops == 0) return "";
  std::string text = absl::StrFormat("; peak %.1f GFLOP/s, copies %.1f GB/s", measured.flops * 1e-9,
                                     measured.bytes * 1e-9);
  if (predicted.flops == 0) return text;
  absl::StrAppendFormat(&text, "\n  predicted: %.3f ms per step", report.predicted * per_step);
  if (report.predicted_exchange > 0) {
    absl::StrAppendFormat(&text, ", %.3f of it for the exchange",
                          report.predicted_exchange * per_step);
  }
  absl::StrAppendFormat(&text, " (%.1f GFLOP/s, copies %.1f GB/s)", predicted.flops * 1e-9,
                        predicted.bytes * 1e-9);
  return text;
}

std::string Megabytes(double bytes) { return absl::StrFormat("%.3f", bytes * 1e-6); }

// The first table.
void AddLayers(const ProfileReport& report, double per_step, std::string& text) {
  // Energy has a column only where it is known.
  const bool energy = std::ranges::any_of(
      report.layers, [](const ProfileReport::Layer& layer) { return layer.joules.has_value(); });
  const auto add_row = [&](const std::string& joules, const auto&... cells) {
    absl::StrAppendFormat(&text, "  %-24s %9s %9s %9s %7s %9s %8s %8s %8s %9s %9s %9s", cells...);
    if (energy) absl::StrAppendFormat(&text, " %9s", joules);
  };
  add_row("mJ", "layer (ms per step)", "forward", "backward", "update", "share", "GFLOP/s", "GB/s",
          "bound", "reached", "arena MB", "params MB", "work MB");
  text += "  computed by\n";
  for (const ProfileReport::Layer& layer : report.layers) {
    if (layer.seconds() == 0) continue;
    const auto ms = [&](double seconds) { return absl::StrFormat("%.3f", seconds * per_step); };
    const bool known = layer.reached > 0;
    add_row(ms(layer.joules.value_or(0)), layer.name, ms(layer.forward), ms(layer.backward),
            ms(layer.update), Percent(layer.share),
            absl::StrFormat("%.1f", layer.flops_per_second * 1e-9),
            absl::StrFormat("%.1f", layer.bytes_per_second * 1e-9),
            known ? (layer.memory_bound ? "memory" : "compute") : "-",
            known ? Percent(layer.reached) : "-", Megabytes(layer.arena),
            Megabytes(layer.parameters), Megabytes(layer.workspace));
    StrAppend(&text, "  ", layer.algorithms.empty() ? "-" : layer.algorithms, "\n");
  }
}

// Those that took longest, as a list of layers can be long.
std::string Costliest(const ProfileReport& report) {
  constexpr size_t kMost = 3;
  std::vector<const ProfileReport::Layer*> layers;
  for (const ProfileReport::Layer& layer : report.layers) {
    if (layer.seconds() > 0) layers.push_back(&layer);
  }
  const auto end = layers.begin() + ptrdiff_t(std::min(kMost, layers.size()));
  std::ranges::partial_sort(layers, end, std::greater(), &ProfileReport::Layer::seconds);
  layers.erase(end, layers.end());
  return absl::StrJoin(layers, ", ", [](std::string* text, const ProfileReport::Layer* layer) {
    StrAppend(text, layer->name, " ", Percent(layer->share));
  });
}

std::string Field(std::string_view name, const std::string& value) {
  return StrCat("\"", name, "\": ", value);
}

std::string Field(std::string_view name, double value) { return Field(name, JsonNumber(value)); }

// For CSV: in quotes where it holds what separates.
std::string Cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == text.npos) return text;
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? "\"\"" : std::string(1, c);
  return cell + "\"";
}

}  // namespace

ProfileReport MakeReport(const Profile& profile, std::span<const LayerFacts> layers,
                         const MachineSpeed& machine, const PredictedMachine& predicted,
                         std::optional<double> watts) {
  ProfileReport report;
  const Profile::Sum& steps = profile.training(Activity::kStep);
  report.steps = steps.calls;
  report.samples = steps.samples;
  report.seconds = double(profile.nanoseconds()) / 1e9;
  report.reading = double(profile.reading_nanoseconds()) / 1e9;
  report.machine = machine;
  report.predicted_machine = predicted.speed;
  double one_update = 0;  // seconds
  double gradients = 0;
  for (const LayerFacts& facts : layers) {
    gradients += double(facts.last_gradient - facts.first_gradient);
  }
  const double update = Seconds(profile.training(Activity::kUpdate));
  for (const LayerFacts& facts : layers) {
    if (facts.id < 0 || size_t(facts.id) >= profile.layers().size()) continue;
    const Profile::LayerSums& sums = profile.layers()[size_t(facts.id)];
    ProfileReport::Layer layer = {.name = facts.name,
                                  .type = facts.type,
                                  .algorithms = facts.algorithms,
                                  .arena = facts.arena_bytes,
                                  .parameters = facts.held_parameter_bytes,
                                  .workspace = facts.workspace_bytes};
    layer.forward = Seconds(sums.forward);
    layer.backward = Seconds(sums.backward);
    layer.inference = Seconds(sums.inference);
    layer.update = update * Divide(double(facts.last_gradient - facts.first_gradient), gradients);
    layer.share = Divide(layer.seconds(), report.seconds);
    if (layer.seconds() + layer.inference == 0) continue;
    if (watts) layer.joules = *watts * layer.seconds();
    const LayerWork work = WorkOf(facts, PassesOf(sums));
    SetSpeed(work, machine, layer);
    report.predicted += SecondsAtBest(work, predicted.speed);
    one_update += SecondsAtBest(UpdateOf(facts), predicted.speed);
    AddKind(layer, report.kinds);
    report.layers.push_back(std::move(layer));
  }
  const double updates = double(report.steps) * predicted.updates_per_step;
  report.predicted_exchange = updates * predicted.exchange;
  report.predicted += updates * one_update + report.predicted_exchange;
  std::ranges::stable_sort(report.kinds, std::greater(), &ProfileReport::Kind::seconds);
  for (int i = 0; i < kActivities; ++i) {
    const Profile::Sum& sum = profile.training(Activity(i));
    if (sum.calls == 0) continue;
    report.activities.push_back({.name = RowName(Activity(i)),
                                 .calls = sum.calls,
                                 .seconds = Seconds(sum),
                                 .share = Divide(Seconds(sum), report.seconds)});
  }
  std::ranges::stable_sort(report.activities, std::greater(), &ProfileReport::Row::seconds);
  return report;
}

std::string FormatReport(const ProfileReport& report) {
  const double per_step = report.steps > 0 ? 1e3 / double(report.steps) : 0;
  std::string text = absl::StrFormat("**** Profile of %d steps, %.3f ms per step%s\n", report.steps,
                                     report.seconds * per_step, Machine(report, per_step));
  if (report.steps == 0) return text + "  nothing was trained\n";
  StrAppend(&text, "  slowest layers: ", Costliest(report), "\n");
  AddLayers(report, per_step, text);
  absl::StrAppendFormat(&text, "  %-24s %9s %9s %7s\n", "kind of layer", "layers", "ms", "share");
  for (const ProfileReport::Kind& kind : report.kinds) {
    if (kind.seconds == 0) continue;
    absl::StrAppendFormat(&text, "  %-24s %9d %9.3f %7s\n", kind.type, kind.layers,
                          kind.seconds * per_step, Percent(kind.share));
  }
  absl::StrAppendFormat(&text, "  %-24s %9s %9s %7s\n", "activity", "calls", "ms", "share");
  for (const ProfileReport::Row& activity : report.activities) {
    absl::StrAppendFormat(&text, "  %-24s %9d %9.3f %7s\n", activity.name, activity.calls,
                          activity.seconds * per_step, Percent(activity.share));
  }
  absl::StrAppendFormat(&text, "  Besides, threads of loaders read for %.3f ms per step.\n",
                        report.reading * per_step);
  return text;
}

std::string ReportJson(const ProfileReport& report) {
  std::string json = StrCat(
      "{", Field("steps", double(report.steps)), ", ", Field("samples", double(report.samples)),
      ", ", Field("seconds", report.seconds), ", ", Field("predicted_seconds", report.predicted),
      ",\n ", Field("loader_seconds", report.reading), ", ",
      Field("peak_flops_per_second", report.machine.flops), ", ",
      Field("copy_bytes_per_second", report.machine.bytes), ",\n \"layers\": [");
  const char* separator = "\n  ";
  for (const ProfileReport::Layer& layer : report.layers) {
    StrAppend(
        &json, std::exchange(separator, ",\n  "), "{", Field("name", JsonText(layer.name)), ", ",
        Field("type", JsonText(layer.type)), ", ", Field("forward_seconds", layer.forward), ", ",
        Field("backward_seconds", layer.backward), ", ", Field("update_seconds", layer.update),
        ", ", Field("inference_seconds", layer.inference), ", ", Field("share", layer.share), ", ",
        Field("flops_per_second", layer.flops_per_second), ", ",
        Field("bytes_per_second", layer.bytes_per_second), ", ",
        Field("bound", layer.memory_bound ? "\"memory\"" : "\"compute\""), ", ",
        Field("reached", layer.reached), ", ", Field("arena_bytes", layer.arena), ", ",
        Field("parameter_bytes", layer.parameters), ", ", Field("workspace_bytes", layer.workspace),
        ", ", Field("joules", layer.joules ? JsonNumber(*layer.joules) : "null"), ", ",
        Field("computed_by", JsonText(layer.algorithms)), "}");
  }
  json += "],\n \"kinds\": [";
  separator = "\n  ";
  for (const ProfileReport::Kind& kind : report.kinds) {
    StrAppend(&json, std::exchange(separator, ",\n  "), "{", Field("type", JsonText(kind.type)),
              ", ", Field("layers", double(kind.layers)), ", ", Field("seconds", kind.seconds),
              ", ", Field("share", kind.share), "}");
  }
  json += "],\n \"activities\": [";
  separator = "\n  ";
  for (const ProfileReport::Row& row : report.activities) {
    StrAppend(&json, std::exchange(separator, ",\n  "), "{", Field("name", JsonText(row.name)),
              ", ", Field("calls", double(row.calls)), ", ", Field("seconds", row.seconds), ", ",
              Field("share", row.share), "}");
  }
  return json + "]}\n";
}

std::string ReportCsv(const ProfileReport& report) {
  std::string csv =
      "name,type,forward_seconds,backward_seconds,update_seconds,inference_seconds,share,"
      "flops_per_second,bytes_per_second,bound,reached,arena_bytes,parameter_bytes,"
      "workspace_bytes,joules,computed_by\n";
  for (const ProfileReport::Layer& layer : report.layers) {
    StrAppend(&csv, Cell(layer.name), ",", Cell(layer.type));
    for (const double value : {layer.forward, layer.backward, layer.update, layer.inference,
                               layer.share, layer.flops_per_second, layer.bytes_per_second}) {
      StrAppend(&csv, ",", JsonNumber(value));
    }
    StrAppend(&csv, ",", layer.memory_bound ? "memory" : "compute");
    for (const double value : {layer.reached, layer.arena, layer.parameters, layer.workspace}) {
      StrAppend(&csv, ",", JsonNumber(value));
    }
    StrAppend(&csv, ",", layer.joules ? JsonNumber(*layer.joules) : "", ",", Cell(layer.algorithms),
              "\n");
  }
  return csv;
}

}  // namespace dtnn
