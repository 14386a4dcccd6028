/**
 * Completion by a script that holds all commands and options, so that a key press starts no process; only ids of DAGs,
 * profiles and pools are asked for, with whatever server the words so far name.
 */
import type { Place } from "./completion.ts";

export function script(shell: "bash" | "zsh" | "fish", places: readonly Place[]): string {
  if (shell === "fish") return fish(places);
  return [header(shell), tables(places), BODY, shell === "bash" ? BASH_END : ZSH_END].join("\n");
}

const header = (shell: string): string =>
  `${shell === "zsh" ? "#compdef meridian\n" : ""}# Completion of meridian for ${shell}, written by \`meridian completion ${shell}\`.`;

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** `_meridian_words PATH`, `_meridian_values PATH OPTION`, `_meridian_first PATH`: what may follow. */
function tables(places: readonly Place[]): string {
  const words = places.map(
    ({ path, commands, options, choices }) =>
      `    ${quoted(path)}) echo ${quoted([...commands.map(([name]) => name), ...choices, ...options.flatMap(({ flags }) => flags)].join(" "))} ;;`,
  );
  const commands = places
    .filter((place) => place.commands.length > 0)
    .map(
      ({ path, commands: below }) =>
        `    ${quoted(path)}) echo ${quoted(below.map(([name]) => name).join(" "))} ;;`,
    );
  const values = places.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map(
        ({ flags, choices }) =>
          `    ${flags.map((flag) => quoted(`${path} ${flag}`)).join("|")}) echo ${quoted(choices.length > 0 ? choices.join(" ") : valueKind(flags))} ;;`,
      ),
  );
  const firsts = places
    .filter(({ first }) => first !== null)
    .map(({ path, first }) => `    ${quoted(path)}) echo ${first} ;;`);
  const table = (name: string, subject: string, lines: readonly string[]): string =>
    `${name}() {\n  case "${subject}" in\n${lines.join("\n")}\n  esac\n}`;
  return [
    table("_meridian_words", "$1", words),
    table("_meridian_commands", "$1", commands),
    table("_meridian_values", "$1 $2", values),
    table("_meridian_first", "$1", firsts),
  ].join("\n");
}

/** Of an option that takes a value: `@profile` is asked for, `@any` is the user's to say. */
const valueKind = (flags: readonly string[]): string => (flags.includes("--profile") ? "@profile" : "@any");

/** For bash and zsh. A variable called `path` would be zsh's own. */
const BODY = `_meridian_ids() {
  local -a at=()
  [ -n "$2" ] && at+=(--profile "$2")
  [ -n "$3" ] && at+=(--url "$3")
  case "$1" in
    dag) meridian dags list --quiet --limit 1000 "\${at[@]}" 2>/dev/null ;;
    pool) meridian pools list --quiet "\${at[@]}" 2>/dev/null ;;
    profile) meridian profile list --quiet 2>/dev/null ;;
  esac
}
_meridian_answer() {
  local cur="$1" before="" place="" word kind values arguments=0 profile="" url="" skip=0
  shift
  for word in "$@"; do
    if [ $skip -eq 1 ]; then
      skip=0
      [ "$before" = --profile ] && profile="$word"
      [ "$before" = --url ] && url="$word"
      before=""
      continue
    fi
    case "$word" in
      -*)
        before="$word"
        [ -n "$(_meridian_values "$place" "$word")" ] && skip=1
        ;;
      *)
        case " $(_meridian_commands "$place") " in
          *" $word "*) place="\${place:+$place }$word" ;;
          *) arguments=$((arguments + 1)) ;;
        esac
        ;;
    esac
  done
  if [ $skip -eq 1 ]; then
    values="$(_meridian_values "$place" "$before")"
    case "$values" in
      @any) echo @files ;;
      @*) _meridian_ids "\${values#@}" ;;
      *) printf '%s\\n' $values ;;
    esac
    return
  fi
  case "$cur" in
    -*) ;;
    *)
      if [ $arguments -eq 0 ]; then
        kind="$(_meridian_first "$place")"
        if [ "$kind" = file ]; then echo @files; elif [ -n "$kind" ]; then _meridian_ids "$kind" "$profile" "$url"; fi
      fi
      ;;
  esac
  for word in $(_meridian_words "$place"); do
    case "$cur/$word" in
      -*/-*) printf '%s\\n' "$word" ;;
      -*|*/-*) ;;
      *) [ $arguments -eq 0 ] && printf '%s\\n' "$word" ;;
    esac
  done
}`;

const BASH_END = `_meridian() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" answer
  answer="$(_meridian_answer "$cur" "\${COMP_WORDS[@]:1:COMP_CWORD-1}")"
  COMPREPLY=()
  local IFS=$'\\n' word
  for word in $answer; do
    if [ "$word" = @files ]; then compopt -o default 2>/dev/null
    elif [[ "$word" == "$cur"* ]]; then COMPREPLY+=("$word"); fi
  done
}
complete -F _meridian meridian`;

const ZSH_END = `_meridian() {
  emulate -L zsh -o sh_word_split
  local -a found
  found=("\${(@f)$(_meridian_answer "\${words[CURRENT]}" "\${(@)words[2,CURRENT-1]}")}")
  if (( \${found[(Ie)@files]} )); then _files; fi
  compadd -- "\${(@)found:#@files}"
}
if [ "$funcstack[1]" = _meridian ]; then _meridian "$@"; else compdef _meridian meridian; fi`;

/** Fish has its own way: conditions, a line for each word. */
function fish(places: readonly Place[]): string {
  const lines = [
    header("fish"),
    `function __meridian_path
  set -l path
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; and continue
    set -l next (string join ' ' $path $word)
    contains -- $next $__meridian_paths; and set path $path $word
  end
  string join ' ' $path
end
function __meridian_at
  set -l path (__meridian_path)
  test "$path" = "$argv[1]"
end`,
    `set -g __meridian_paths ${places.flatMap(({ path }) => (path === "" ? [] : [fishQuoted(path)])).join(" ")}`,
    "complete -c meridian -f",
  ];
  for (const { path, commands, options, first, choices } of places) {
    const at = `complete -c meridian -n ${fishQuoted(`__meridian_at "${path}"`)}`;
    for (const [name, description] of commands)
      lines.push(`${at} -a ${fishQuoted(name)} -d ${fishQuoted(description)}`);
    if (choices.length > 0) lines.push(`${at} -a ${fishQuoted(choices.join(" "))}`);
    if (first === "file") lines.push(`${at} -F`);
    else if (first !== null) lines.push(`${at} -a ${fishQuoted(`(${IDS[first]})`)}`);
    for (const { flags, description, takesValue, choices: values } of options) {
      const names = flags.map((flag) =>
        flag.startsWith("--") ? `-l ${fishQuoted(flag.slice(2))}` : `-s ${fishQuoted(flag.slice(1))}`,
      );
      const asked =
        values.length > 0 ? values.join(" ") : flags.includes("--profile") ? `(${IDS.profile})` : "";
      const value = takesValue ? ` -x${asked === "" ? "" : ` -a ${fishQuoted(asked)}`}` : "";
      lines.push(`${at} ${names.join(" ")}${value} -d ${fishQuoted(description)}`);
    }
  }
  return lines.join("\n");
}

const IDS = {
  dag: "meridian dags list --quiet --limit 1000 2>/dev/null",
  pool: "meridian pools list --quiet 2>/dev/null",
  profile: "meridian profile list --quiet 2>/dev/null",
} as const;

const fishQuoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
