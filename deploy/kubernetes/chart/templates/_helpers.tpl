{{- define "brand-engine.version" -}}
{{ .Values.images.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* As it may stand in a name: a Job cannot be changed, so each release has its own. */ -}}
{{- define "brand-engine.release" -}}
{{ regexReplaceAll "[^a-z0-9]+" (include "brand-engine.version" . | lower) "-" | trimSuffix "-" }}
{{- end }}

{{- /* list . SERVICE */ -}}
{{- define "brand-engine.image" -}}
{{- $root := first . }}{{ $service := last . }}
{{- $digest := index $root.Values.images.digests $service }}
{{- printf "%s/%s:%s" $root.Values.images.repository $service (include "brand-engine.version" $root) }}
{{- if $digest }}@{{ $digest }}{{ end }}
{{- end }}

{{- define "brand-engine.settings" -}}
{{ mergeOverwrite (include "brand-engine.own-settings" . | fromYaml) .Values.settings | toYaml }}
{{- end }}

{{- /* It ends in a digest, so that pods are renewed when a setting changes. */ -}}
{{- define "brand-engine.settings-name" -}}
settings-{{ include "brand-engine.settings" . | sha256sum | trunc 10 }}
{{- end }}
